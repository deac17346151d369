"""The process that listens: uvicorn on a socket that is bound already."""

import socket
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from herofilter.harmless import harmless
from herofilter.serve.address import shown_url

_SHUTDOWN_SECONDS = 10


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(harmless(self.ready), flush=True)


def run_server(app: FastAPI, bound: socket.socket, model: str) -> None:
    """Answer requests until Ctrl-C; those that are being answered are finished first."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    url = shown_url(bound)
    # uvicorn raises the signal again once it has shut down
    with suppress(KeyboardInterrupt):
        _Server(config, f"{model} at {url}, described at {url}/docs; Ctrl-C stops it").run([bound])
