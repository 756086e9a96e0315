"""The page: the same service for people with a browser. HTML from the server, forms and links; there is no script.

A session is a cookie that no script and no other site can use (HttpOnly, SameSite=Strict); every form carries a token
that belongs to the session, and a form that comes from another site is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from dither.errors import DitherError, OverBudget, ParameterError
from dither.web import page_html
from dither.web.access_keys import Key, Refused, fresh_token
from dither.web.api import files_of
from dither.web.http_failures import failure
from dither.web.page_html import Frame
from dither.web.question_forms import fields_of, question_of
from dither.web.questions import ANSWERED, WAITING, AskedQuestion
from dither.web.requests import Desk

__all__ = ["page"]

_COOKIE: Final = "dither_session"
_PATIENCE: Final = 10.0
_NO_SUCH_KEY: Final = "This key is unknown, expired or revoked. Try again."
"""Seconds that a form waits for its answer."""


def page(desk: Desk) -> APIRouter:
    """All pages."""
    router = APIRouter(include_in_schema=False)
    _sessions(router, desk)
    _questions(router, desk)
    _ownership(router, desk)
    return router


def _sessions(router: APIRouter, desk: Desk) -> None:
    @router.get("/style.css")
    async def style() -> Response:
        return Response(page_html.style(), media_type="text/css")

    @router.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        _nobody(request)
        desk.limit(request)
        _check_origin(request)
        fields = await _fields(desk, request)
        try:
            token = await desk.quick(lambda: desk.service.keyring.signed_in(fields.get("key", "").strip()))
        except Refused:
            return HTMLResponse(page_html.sign_in(Frame(None, ""), _NO_SUCH_KEY), 401)
        found = RedirectResponse("/", 303)
        settings = desk.service.settings
        secure = settings.is_encrypted or settings.behind_proxy
        found.set_cookie(_COOKIE, token, httponly=True, samesite="strict", secure=secure, path="/")
        return found

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        await _form(desk, request)
        token = request.cookies.get(_COOKIE, "")
        await desk.quick(lambda: desk.service.keyring.signed_out(token))
        found = RedirectResponse("/", 303)
        found.delete_cookie(_COOKIE, path="/")
        return found


def _questions(router: APIRouter, desk: Desk) -> None:
    service = desk.service

    @router.get("/")
    async def datasets(request: Request) -> Response:
        try:
            frame, key = await _who(desk, request)
        except Refused:
            return HTMLResponse(page_html.sign_in(Frame(None, "")))
        return await _shown(
            desk, lambda: page_html.datasets(frame, [service.about(key, of) for of in service.datasets(key)])
        )

    @router.get("/data/{name}")
    async def dataset(request: Request, name: str) -> Response:
        frame, key = await _who(desk, request, name)
        return await _shown(desk, lambda: page_html.dataset(frame, service.about(key, service.dataset(key, name))))

    @router.post("/data/{name}/plan")
    async def plan(request: Request, name: str) -> Response:
        frame, key, fields = await _form(desk, request, name)

        def work() -> tuple[str, int]:
            about = service.about(key, service.dataset(key, name))
            try:
                asked = json.dumps(question_of(fields), ensure_ascii=False)
                found = service.plan(key, name, asked.encode("utf-8", "replace"))
            except (ParameterError, OverBudget) as error:  # to be changed where it was written
                return page_html.dataset(frame, about, fields, failure(error)[1]), 400
            return page_html.plan(frame, about, asked, fresh_token(128), *found), 200

        return HTMLResponse(*await desk.planned(key, work))

    @router.post("/data/{name}/change")
    async def change(request: Request, name: str) -> Response:
        frame, key, fields = await _form(desk, request, name)

        def work() -> str:
            about = service.about(key, service.dataset(key, name))
            return page_html.dataset(frame, about, fields_of(fields.get("asked", "")))

        return await _shown(desk, work)

    @router.post("/data/{name}/release")
    async def release(request: Request, name: str) -> Response:
        _, key, fields = await _form(desk, request, name)
        body, own = fields.get("asked", "").encode("utf-8", "replace"), fields.get("key")
        inquiry = await desk.planned(key, lambda: service.ask(key, name, body, own))
        return await _followed(desk, key, inquiry)

    @router.get("/answers/{id}")
    async def answer(request: Request, id: str) -> Response:
        frame, key = await _who(desk, request)

        def work() -> str:
            inquiry = service.inquiry(key, id)
            if inquiry.state != ANSWERED:
                return page_html.unanswered(frame, inquiry, key, desk.jobs.ahead(id))
            _, found = service.answer(key, id)
            return page_html.answer(frame, inquiry, found, service.offered[inquiry.dataset].is_practice)

        return await _shown(desk, work)

    @router.get("/answers/{id}/{form}")
    async def file(request: Request, id: str, form: str) -> Response:
        _, key = await _who(desk, request)
        return await files_of(desk, key, id, form)

    @router.get("/history")
    async def history(request: Request) -> Response:
        frame, key = await _who(desk, request)
        return await _shown(desk, lambda: page_html.history(frame, service.history(key), key))

    @router.post("/questions/{id}/collect")
    async def collect(request: Request, id: str) -> Response:
        _, key, _ = await _form(desk, request)
        return await _followed(desk, key, await desk.quick(lambda: service.own_inquiry(key, id)))

    @router.post("/questions/{id}/withdraw")
    async def withdraw(request: Request, id: str) -> Response:
        _, key, _ = await _form(desk, request)
        await desk.quick(lambda: service.withdraw(key, id))
        return RedirectResponse("/history", 303)


async def _followed(desk: Desk, key: Key, inquiry: AskedQuestion) -> Response:
    """Wait a little for the answer; a longer one is seen on its page, which looks again by itself."""
    if inquiry.state not in (WAITING, ANSWERED):
        await asyncio.wait({desk.jobs.start(key, inquiry)}, timeout=_PATIENCE)
    return RedirectResponse(f"/answers/{inquiry.id}", 303)


def _ownership(router: APIRouter, desk: Desk) -> None:
    service = desk.service

    @router.get("/owner")
    async def owner(request: Request) -> Response:
        frame, key = await _who(desk, request, owner=True)

        def work() -> str:
            waiting = [(each, _planned(desk, each.dataset, each.asked)) for each in service.history(key, WAITING)]
            real = {name: each for name, each in service.offered.items() if not each.is_practice}
            counted = {name: each.account.failures for name, each in real.items()}
            return page_html.owner(
                frame,
                waiting,
                {name: service.spending(each) for name, each in real.items()},
                {name: (each.unanswered, each.allowed) for name, each in counted.items()},
                service.keyring.all(),
            )

        return await _shown(desk, work)

    @router.post("/questions/{id}/accept")
    async def accept(request: Request, id: str) -> Response:
        await _form(desk, request, owner=True)
        await desk.quick(lambda: service.questions.decide(id, is_accepted=True))
        return RedirectResponse("/owner", 303)

    @router.post("/questions/{id}/decline")
    async def decline(request: Request, id: str) -> Response:
        await _form(desk, request, owner=True)
        await desk.quick(lambda: service.questions.decide(id, is_accepted=False))
        return RedirectResponse("/owner", 303)

    @router.post("/data/{name}/resume")
    async def resume(request: Request, name: str) -> Response:
        _, key, _ = await _form(desk, request, name, owner=True)
        await desk.quick(lambda: service.resume(key, service.dataset(key, name)))
        return RedirectResponse("/owner", 303)


def _planned(desk: Desk, dataset: str, asked: str) -> str:
    """What the owner is shown of a question that waits: its plan, never a truth."""
    asker = Key(id="", name="owner", rights={}, is_owner=True)
    try:
        _, found = desk.service.plan(asker, dataset, asked.encode())
    except DitherError as error:
        return page_html.not_planned(failure(error)[1])
    return page_html.plan_lines(found)


async def _shown(desk: Desk, work: Callable[[], str]) -> Response:
    return HTMLResponse(await desk.quick(work))


def _nobody(request: Request) -> Frame:
    """Failures are shown as a page, to somebody who is not signed in."""
    frame = Frame(None, "")
    request.state.page_of_failure = lambda status, sentence: _failed(frame, status, sentence)
    return frame


def _failed(frame: Frame, status: int, sentence: str) -> Response:
    words = page_html.failed(frame, sentence)
    return HTMLResponse(words, status)


async def _who(desk: Desk, request: Request, dataset: str | None = None, *, owner: bool = False) -> tuple[Frame, Key]:
    """Whose session it is, if that key may do this."""
    _nobody(request)
    token = request.cookies.get(_COOKIE)
    found = desk.service.offered.get(dataset or "")
    right = dataset if found is None else found.right
    key = await desk.quick(lambda: desk.service.keyring.of_session(token, right, owner=owner))
    desk.limit(request, key.id)
    frame = Frame(key, _form_token(token or ""))
    request.state.by = key.name
    request.state.page_of_failure = lambda status, sentence: _failed(frame, status, sentence)
    return frame, key


async def _form(
    desk: Desk, request: Request, dataset: str | None = None, *, owner: bool = False
) -> tuple[Frame, Key, dict[str, str]]:
    """The same for a form, which must be one of ours."""
    frame, key = await _who(desk, request, dataset, owner=owner)
    _check_origin(request)
    fields = await _fields(desk, request)
    if not hmac.compare_digest(fields.get("token", "").encode(), frame.token.encode()):
        raise Refused
    return frame, key, fields


def _check_origin(request: Request) -> None:
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refused


async def _fields(desk: Desk, request: Request) -> dict[str, str]:
    body = await desk.body(request)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=30)
    except ValueError:
        raise ParameterError("the form cannot be read.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParameterError("the form has a field twice.")
    return found


def _form_token(session: str) -> str:
    return hashlib.sha256(f"form:{session}".encode()).hexdigest()
