"""The API: JSON in, JSON out, under /api. Each endpoint says who may call it; what it does stands in `service`."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response

from dither.errors import ParameterError
from dither.version import __version__
from dither.web.access_keys import Key
from dither.web.answer_files import FILES, answer_as_dict, as_json, plan_as_dict
from dither.web.metrics import metrics_text
from dither.web.questions import ACCEPTED, ANSWERED, DECLINED, WAITING, WITHDRAWN, AskedQuestion
from dither.web.requests import Desk

__all__ = ["api", "files_of"]

_QUESTION: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "sql": {"type": "string"},
                        "agg": {"type": "object", "additionalProperties": {"type": "string"}},
                        "where": {"type": "array", "items": {"type": "string"}},
                        "columns": {"type": "object", "additionalProperties": {"type": "string"}},
                        "per_person": {"type": "object", "additionalProperties": {"type": "string"}},
                        "group_by": {"type": "array", "items": {"type": "string"}},
                        "keys": {"type": ["array", "object", "string"]},
                        "epsilon": {"type": ["string", "number"]},
                        "delta": {"type": ["string", "number"]},
                        "rho": {"type": ["string", "number"]},
                        "noise": {"type": "string"},
                        "level": {"type": ["string", "number"]},
                        "weights": {"type": "object"},
                        "population": {"type": "boolean"},
                    },
                    "additionalProperties": False,
                },
                "example": {"sql": "SELECT city, COUNT(*) FROM data GROUP BY city", "epsilon": "0.5"},
            }
        },
    }
}
_KEYED: Final[dict[str, Any]] = {"security": [{"key": []}]}


def _json(value: Any, status: int = 200) -> Response:
    return Response(as_json(value), status, media_type="application/json")


def api(desk: Desk) -> APIRouter:
    """All endpoints."""
    router = APIRouter(prefix="/api")
    _asking(router, desk)
    _reading(router, desk)
    _owning(router, desk)
    whole = APIRouter()
    whole.include_router(router)
    _watching(whole, desk)
    return whole


def _watching(router: APIRouter, desk: Desk) -> None:
    """What programs that watch the service look at, where they expect it."""
    service = desk.service

    @router.get("/health")
    async def health(request: Request) -> Response:
        """Whether the service, its store and its ledgers answer."""
        desk.limit(request, f"health {request.client.host if request.client else ''}")
        await desk.quick(lambda: (service.keyring.all(), [each.account for each in service.offered.values()]))
        return _json({"status": "ok", "version": __version__})

    @router.get("/metrics", openapi_extra=_KEYED)
    async def metrics(request: Request) -> Response:
        """Counts for Prometheus. Only for the owner."""
        await _by(desk, request, owner=True)
        return Response(await desk.quick(lambda: metrics_text(service)), media_type="text/plain; version=0.0.4")


def _asking(router: APIRouter, desk: Desk) -> None:
    service = desk.service

    @router.post("/datasets/{name}/plan", openapi_extra={**_QUESTION, **_KEYED})
    async def plan(request: Request, name: str) -> Response:
        """What a question would do, how exact it would be, and what it would cost. Nothing is spent."""
        key = await _by(desk, request, name)
        body = await desk.body(request)
        return _json(await desk.planned(key, lambda: plan_as_dict(*service.plan(key, name, body))))

    @router.post("/datasets/{name}/release", openapi_extra={**_QUESTION, **_KEYED})
    async def release(request: Request, name: str) -> Response:
        """Charge the budget, then answer. The same Idempotency-Key gives the same bytes and is charged once.

        With `Prefer: respond-async` it says at once where to look; sent again without, it waits for the same answer.
        """
        key = await _by(desk, request, name)
        body, own = await desk.body(request), request.headers.get("idempotency-key")
        inquiry = await desk.planned(key, lambda: service.ask(key, name, body, own))
        if inquiry.state == WAITING:
            return _accepted(inquiry)
        if "respond-async" in request.headers.get("prefer", "").lower():
            if inquiry.state != ANSWERED:
                desk.jobs.start(key, inquiry)
            return _accepted(inquiry)
        found = await desk.jobs.answer(key, inquiry)
        return _json(await desk.quick(lambda: answer_as_dict(inquiry.id, found)))

    @router.delete("/questions/{id}", openapi_extra=_KEYED)
    async def withdraw(request: Request, id: str) -> Response:
        """Take back a question that waits for the owner or for its turn. Nothing was charged."""
        key = await _by(desk, request)
        await desk.quick(lambda: service.withdraw(key, id))
        return _json({"id": id, "state": WITHDRAWN})


def _reading(router: APIRouter, desk: Desk) -> None:
    service = desk.service

    @router.get("/datasets", openapi_extra=_KEYED)
    async def datasets(request: Request) -> Response:
        """The datasets that this key may ask of: columns, privacy domains, and what is left of each budget."""
        key = await _by(desk, request)
        return _json(await desk.quick(lambda: [service.about(key, each) for each in service.datasets(key)]))

    @router.get("/datasets/{name}", openapi_extra=_KEYED)
    async def dataset(request: Request, name: str) -> Response:
        """One dataset."""
        key = await _by(desk, request, name)
        return _json(await desk.quick(lambda: service.about(key, service.dataset(key, name))))

    @router.get("/questions", openapi_extra=_KEYED)
    async def questions(request: Request) -> Response:
        """The questions of this key, the newest first; for the owner those of all."""
        key = await _by(desk, request)
        return _json(await desk.quick(lambda: [_about(each) for each in service.history(key)]))

    @router.get("/questions/{id}", openapi_extra=_KEYED)
    async def question(request: Request, id: str) -> Response:
        """What became of a question; of one that waits for its turn, how many are ahead of it."""
        key = await _by(desk, request)
        found = await desk.quick(lambda: service.inquiry(key, id))
        return _json({**_about(found), "ahead": desk.jobs.ahead(found.id)})

    @router.get("/answers/{id}", openapi_extra=_KEYED)
    async def answer(request: Request, id: str) -> Response:
        """An answer that was given before, in the same bytes."""
        key = await _by(desk, request)
        return _json(await desk.quick(lambda: answer_as_dict(id, service.answer(key, id)[1])))

    @router.get("/answers/{id}/{form}", openapi_extra=_KEYED)
    async def file(request: Request, id: str, form: str) -> Response:
        """The same as a file: csv, json, parquet or certificate."""
        return await files_of(desk, await _by(desk, request), id, form)


def _owning(router: APIRouter, desk: Desk) -> None:
    service = desk.service

    @router.get("/datasets/{name}/spending", openapi_extra=_KEYED)
    async def spending(request: Request, name: str) -> Response:
        """Every charge: when, by whom, for what. Only for the owner."""
        key = await _by(desk, request, name, owner=True)
        return _json(await desk.quick(lambda: service.spending(service.dataset(key, name))))

    @router.post("/datasets/{name}/resume", openapi_extra=_KEYED)
    async def resume(request: Request, name: str) -> Response:
        """Accept failures, so that questions are taken again. Only for the owner."""
        key = await _by(desk, request, name, owner=True)
        return _json({"lifted": await desk.quick(lambda: service.resume(key, service.dataset(key, name)))})

    @router.post("/questions/{id}/{word}", openapi_extra=_KEYED)
    async def decide(request: Request, id: str, word: str) -> Response:
        """`accept` or `decline` a question that waits. Only for the owner."""
        await _by(desk, request, owner=True)
        if word not in ("accept", "decline"):
            raise ParameterError("a question that waits is accepted or declined.")
        await desk.quick(lambda: service.questions.decide(id, is_accepted=word == "accept"))
        return _json({"id": id, "state": ACCEPTED if word == "accept" else DECLINED})


def _accepted(inquiry: AskedQuestion) -> Response:
    """It is not answered yet; there it will be found."""
    found = _json({"id": inquiry.id, "state": inquiry.state, "idempotency_key": inquiry.key}, 202)
    found.headers["Location"] = f"/api/questions/{inquiry.id}"
    return found


async def files_of(desk: Desk, key: Key, id: str, form: str) -> Response:
    """A file of an answer, to be saved and not shown."""
    if form not in FILES:
        raise ParameterError(f"an answer can be had as {', '.join(FILES)}.")
    kind, written = FILES[form]
    content = await desk.quick(lambda: written(desk.service.answer(key, id)[1]))
    name = "certificate.json" if form == "certificate" else f"answer.{form}"
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _by(desk: Desk, request: Request, dataset: str | None = None, *, owner: bool = False) -> Key:
    key = await desk.key(request, dataset, owner=owner)
    request.state.by = key.name
    return key


def _about(inquiry: AskedQuestion) -> dict[str, Any]:
    names = ("id", "dataset", "analyst", "state", "told", "at")
    return {**{name: getattr(inquiry, name) for name in names}, "idempotency_key": inquiry.key, "asked": inquiry.values}
