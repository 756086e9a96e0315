"""The application: the API and the page behind one middleware, and the server that runs it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from dither.version import __version__
from dither.web.answer_files import as_json
from dither.web.api import api
from dither.web.connections import BoundedConnection
from dither.web.page import page
from dither.web.requests import Desk, log
from dither.web.service import Service

__all__ = ["application", "configuration", "run"]

_GRACE = 30
"""Seconds that questions in flight have when the service is stopped."""


def application(service: Service) -> FastAPI:
    """The whole service as an ASGI application."""

    desk = Desk(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await desk.jobs.drain(_GRACE)
        service.close()

    app = FastAPI(
        title="dither", version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )  # fmt: skip
    app.middleware("http")(desk.middleware)
    app.exception_handler(RequestValidationError)(_bad_request)
    app.exception_handler(HTTPException)(_no_such_place)
    app.include_router(api(desk))
    app.include_router(page(desk))

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = get_openapi(title="dither", version=__version__, routes=app.routes)
            schemes = {"key": {"type": "http", "scheme": "bearer"}}
            app.openapi_schema.setdefault("components", {})["securitySchemes"] = schemes
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
    return app


async def _bad_request(_: Request, __: Exception) -> Response:
    """Without the words of the validator, which repeat what was sent."""
    return Response(as_json({"error": "the request cannot be read."}), 400, media_type="application/json")


async def _no_such_place(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return Response(as_json({"error": "there is nothing here."}), status, media_type="application/json")


def run(service: Service) -> None:
    """Serve until SIGINT or SIGTERM; questions in flight are answered first."""
    log.setLevel(logging.INFO)
    log.addHandler(logging.StreamHandler())  # JSON lines on stderr, without data or keys
    uvicorn.Server(configuration(service)).run()


def configuration(service: Service) -> uvicorn.Config:
    """How the server listens: it says neither what it is nor what time it is."""
    settings = service.settings
    return uvicorn.Config(
        application(service),
        host=settings.host,
        port=settings.port,
        http=BoundedConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=settings.behind_proxy,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=32_768,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
