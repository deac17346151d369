# `herofilter serve` on a CPU:
#
#   docker build -t herofilter .
#   docker run --rm -p 8000:8000 -v "$PWD/model:/model:ro" herofilter
#
# Another command takes the place of the last line: docker run --rm herofilter train karate
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE constraints.txt ./
COPY herofilter herofilter
RUN python -m venv /opt/herofilter && \
    /opt/herofilter/bin/pip install --no-cache-dir -c constraints.txt \
        --extra-index-url https://download.pytorch.org/whl/cpu ".[serve,tables]"

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 herofilter
COPY --from=build /opt/herofilter /opt/herofilter
ENV PATH="/opt/herofilter/bin:$PATH" \
    HEROFILTER_CACHE="/home/herofilter/cache" \
    PYTHONUNBUFFERED=1
USER herofilter
WORKDIR /home/herofilter
EXPOSE 8000
# the model is loaded and its graph predicted before the service answers
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["herofilter"]
CMD ["serve", "/model", "--host", "0.0.0.0", "--port", "8000"]
