"""The HTTP side of the service: routes, statuses, and one sentence for every mistake."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

import herofilter
from herofilter.errors import HeroFilterError
from herofilter.serve.bodies import (
    ErrorAnswer,
    ExplainRequest,
    HealthAnswer,
    PredictAnswer,
    PredictRequest,
    RequestError,
    Tables,
    parse_body,
)
from herofilter.serve.page import describe_bodies, render_page
from herofilter.serve.request_body import read_body
from herofilter.serve.service import Service

MOST_WAITING = 16
_LONGEST_ERROR = 1000
_MISTAKES = {
    400: "a node, a table or JSON that can't be used",
    413: "more than the limits allow",
    415: "a body that isn't JSON",
    422: "an unknown field, or a wrong kind of value",
    503: "too many requests at once",
}
Body = TypeVar("Body", bound=Tables)


def create_app(service: Service) -> FastAPI:
    """Return the application that answers requests with a service.

    Requests are parsed and answered one after the other in a thread of their own, so that
    ``/health`` answers meanwhile. At most 16 wait; more are sent away.
    """
    worker = ThreadPoolExecutor(1, thread_name_prefix="herofilter-serve")
    waiting = 0

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="herofilter",
        version=herofilter.__version__,
        description="Predictions of a fitted model, and their explanations.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    mistakes: dict[int | str, dict[str, Any]] = {
        code: {"model": ErrorAnswer, "description": said} for code, said in _MISTAKES.items()
    }
    _answer_errors(app)

    async def answer(
        request: Request, kind: type[Body], respond: Callable[[Body], dict[str, Any]]
    ) -> JSONResponse:
        nonlocal waiting
        if waiting >= MOST_WAITING:
            raise RequestError(
                503, f"at most {MOST_WAITING} requests can wait (got one more); try again soon"
            )
        waiting += 1
        try:
            body = await read_body(request, service.limits.max_bytes)

            def work() -> JSONResponse:
                return JSONResponse(respond(parse_body(body, kind, service.limits)))

            return await asyncio.get_running_loop().run_in_executor(worker, work)
        finally:
            waiting -= 1

    @app.get("/health", response_model=HealthAnswer, summary="What is served")
    async def health() -> JSONResponse:
        return JSONResponse(service.health())

    @app.post(
        "/predict",
        response_model=PredictAnswer,
        responses=mistakes,
        summary="Predict nodes of the graph of training, or of tables",
        openapi_extra=describe_bodies(PredictRequest),
    )
    async def predict(request: Request) -> JSONResponse:
        return await answer(request, PredictRequest, service.predict)

    @app.post(
        "/explain",
        responses=mistakes,
        summary="Explain the prediction for a node, as herofilter explain --json does",
        openapi_extra=describe_bodies(ExplainRequest),
    )
    async def explain(request: Request) -> JSONResponse:
        return await answer(request, ExplainRequest, service.explain)

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        # nothing on the page is loaded from elsewhere
        headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        url = str(request.base_url).rstrip("/")
        page = render_page(app.openapi(), service.health(), url, service.first_id)
        return HTMLResponse(page, headers=headers)

    return app


def _answer_errors(app: FastAPI) -> None:
    """Turn every error into ``{"error": sentence}``."""

    @app.exception_handler(HeroFilterError)
    async def mistake(_: Request, error: HeroFilterError) -> JSONResponse:
        status = error.status if isinstance(error, RequestError) else 400
        # the same sentences serve the command line, where options are spelt otherwise
        return _error(status, str(error).replace("--drop-unknown", "drop_unknown"))

    @app.exception_handler(HTTPException)
    async def no_route(request: Request, error: HTTPException) -> JSONResponse:
        asked = f"{request.method} {request.url.path}"
        known = "GET /health, POST /predict, POST /explain and GET /docs"
        said = f"a request must be one of {known} (got {asked})"
        return _error(error.status_code, said, error.headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, __: ClientDisconnect) -> JSONResponse:
        return _error(400, "the body must be sent completely (got a part of it)")

    @app.exception_handler(MemoryError)
    async def too_large(_: Request, __: MemoryError) -> JSONResponse:
        return _error(
            503, "a request must fit into memory, but there was not enough; send a smaller one"
        )

    @app.exception_handler(Exception)
    async def bug(_: Request, __: Exception) -> JSONResponse:
        return _error(500, "the service failed at this request, which is a bug; its log says where")


def _error(status: int, sentence: str, headers: Any = None) -> JSONResponse:
    if len(sentence) > _LONGEST_ERROR:
        sentence = f"{sentence[:_LONGEST_ERROR]}…"
    return JSONResponse({"error": sentence}, status, headers)
