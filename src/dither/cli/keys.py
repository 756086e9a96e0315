"""`dither keys`: who may ask the service, of what, and how much of the budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli import options
from dither.cli.screen import print_json
from dither.cli.table import print_table
from dither.errors import ParameterError

__all__ = ["command"]

_ACTIONS = ("add", "list", "revoke", "rotate")


def command(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="add, list, revoke or rotate.")],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Whose key: it stands in the ledger.")] = None,
    description: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The descriptions that are served, the first one first; may be repeated. dither.toml unless given.",
        ),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=EPSILON]",
            help="A dataset that the key may ask of, and the share of its budget; may be repeated. "
            "All that are described, without a share, unless given.",
        ),
    ] = None,
    owner: Annotated[
        bool, typer.Option("--owner", help="The key of the owner, who sees spending and approves.")
    ] = False,
    expires: Annotated[
        str | None, typer.Option(metavar="DAY", help="When it ends, such as 2027-01-31; never unless given.")
    ] = None,
    *,
    json: options.JSON = False,
) -> None:
    """Make, list, revoke or rotate the keys of `dither serve`.

    A key is shown once; only its hash is kept. A share is what one analyst may spend of the budget of a dataset; it is
    given once, and the budget holds however shares are set. Where the budget is a rho, so is the share.

    \b
    Example:
      dither keys add anna --dataset visits=0.5 --expires 2099-12-31
      dither keys list
      dither keys rotate anna
      dither keys revoke anna
    """
    if action not in _ACTIONS:
        raise ParameterError(f"the action must be one of {', '.join(_ACTIONS)}, got {action!r}.")
    if (name is None) != (action == "list"):
        raise ParameterError("add, revoke and rotate name a key, such as `dither keys add anna`; list names none.")
    if action != "add" and (dataset or owner or expires):
        raise ParameterError("--dataset, --owner and --expires go with `dither keys add`.")
    from dither.cli.served_datasets import keyring_of, shares
    from dither.web.access_keys import check_expiry

    if expires is not None:
        check_expiry(expires)
    files = description or [Path("dither.toml")]
    keyring = keyring_of(files[0])
    try:
        if action == "list" or name is None:
            _list(keyring.all(), json)
        elif action == "revoke":
            keyring.revoke(name)
            _tell(json, f"The key of {name} opens nothing from now on.", {"revoked": name})
        else:
            rights = {} if action == "rotate" else shares(files, dataset or [])
            made = (
                keyring.rotate(name)
                if action == "rotate"
                else keyring.add(name, rights, is_owner=owner, expires=expires)
            )
            _tell(
                json, f"{made}\nThis key of {name} is shown this once. Keep it as you keep a password.", {"key": made}
            )
    finally:
        keyring.store.close()


def _tell(json: bool, sentence: str, value: dict[str, str]) -> None:
    if json:
        print_json(value)
    else:
        typer.echo(sentence)


def _list(keys: object, json: bool) -> None:
    from dither.web.access_keys import Key

    assert isinstance(keys, list)
    found: list[Key] = keys
    rows = [
        {
            "name": key.name,
            "kind": "owner" if key.is_owner else "analyst",
            "datasets": {name: dict(share) for name, share in key.rights.items()},
            "state": key.state,
            "expires": key.expires,
        }
        for key in found
    ]
    if json:
        print_json(rows)
        return
    print_table(
        ["name", "kind", "may ask of", "state", "expires"],
        [[key.name, str(row["kind"]), _rights(key), str(row["state"]), key.expires or "never"]
         for key, row in zip(found, rows, strict=True)],
    )  # fmt: skip


def _rights(key: object) -> str:
    from dither.web.access_keys import Key

    assert isinstance(key, Key)
    if key.is_owner:
        return "all"
    said = {
        name: ", ".join(f"{figure} {amount}" for figure, amount in share.items()) for name, share in key.rights.items()
    }
    return "; ".join(f"{name} ({share})" if share else name for name, share in said.items())
