"""A class: chats that its students cannot make larger than their teacher said."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeAlias

from ..core.errors import InvalidOptions, SessionError
from ..core.journal import Journal
from ..core.records import Record
from ..core.usage import Cost, ModelCall, Usage
from ..engine.runtime import engine_thread
from ..policy.budget import Budget, budget_option
from ..providers.base import Model
from ..providers.catalog import require_form
from ..store.base import SessionStore
from ..store.urls import open_store
from ..surfaces.assembly import ChatOptions
from ..surfaces.driver import COMMAND_TIMEOUT_S
from ..surfaces.explorer import SessionExplorer
from ..surfaces.modelchoice import FixedModels
from ..surfaces.widget import AgentWidget
from ..tools.base import Tool
from .classlog import ClassLog, read_log

Models: TypeAlias = Sequence[str] | Mapping[str, str | Callable[[], Model]] | None
CLASS_FIXED: Final = "class_fixed"
"""Code of what a chat of a class refuses."""
SEPARATOR: Final = "--"
_OF_THE_ROOM: Final = ("store", "budget", "session_id", "resume", "messages")
"""Options of a chat that a class decides itself."""


class ClassChat(AgentWidget):
    """A chat of a class. What a class fixes cannot be changed here; make one with ``ClassRoom``."""

    class_name: str = ""

    def refresh_tools(self, tools: Iterable[Tool | Callable[..., Any]]) -> NoReturn:  # noqa: ARG002
        """Refuse: the tools of a class are fixed. Raises SessionError ``class_fixed``."""
        raise _fixed(f"The tools of class {self.class_name!r} are fixed.")

    def fork(self, message_id: str | None = None) -> NoReturn:  # noqa: ARG002
        """Refuse: a fork would be a chat outside of the class. Raises SessionError."""
        advice = "Use Edit on a message: that makes a branch within this chat."
        raise _fixed(f"A chat of class {self.class_name!r} cannot be forked.", advice)


class ClassRoom:
    """Hands out one chat per student, all kept in one store.

    ``models`` are the names that may be chosen, here and in the chat, the first one being used
    unless another is asked for (None: what a chat takes by itself, and no other); a mapping gives
    each name what makes its model.
    ``budget`` caps each student over all runs, cells and kernels: what is in the store counts.
    ``options`` are those of ``AgentWidget`` and are the same for all. This caps what is done from
    the chats; it is no wall around the kernel, in which a student's code can do what any code can.

    Raises InvalidOptions for what cannot work.
    """

    def __init__(
        self,
        name: str,
        *,
        store: str | os.PathLike[str] | SessionStore,
        models: Models = None,
        budget: Budget | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if not _is_name(name) or SEPARATOR in name:
            raise InvalidOptions(f"name={name!r} is no name of a class.", advice="Write 'stats-1'.")
        for option in options:
            if option in _OF_THE_ROOM or option not in ChatOptions.__annotations__:
                advice = "Give options of AgentWidget that hold for the whole class."
                raise InvalidOptions(f"A class has no option {option}.", advice=advice)
        self.name = name
        made = open_store(store) if isinstance(store, str | os.PathLike) else store
        if not hasattr(made, "load"):
            advice = "Write store='class.db': the class and its log live there."
            raise InvalidOptions(f"store={store!r} is no place for sessions.", advice=advice)
        self.store: SessionStore = made
        self.budget = budget_option(budget)
        self.models = _models(models)
        self._options = options

    def chat(self, student: str, model: str | None = None) -> ClassChat:
        """The chat of a student: a new one, or the one that is in the store.

        ``model`` is one of the class. Raises InvalidOptions for another one.
        """
        session_id = self.session_id(student)
        name = self._model(model)
        records = self._load(session_id)
        makers = {name: each if callable(each) else None for name, each in self.models.items()}
        options: dict[str, Any] = {
            **self._options,
            "models": FixedModels(makers, self._refused),
            "budget": self.budget,
        }
        chat = ClassChat(name, store=self.store, session_id=session_id, **options)
        chat.class_name = self.name
        if "bash" not in chat.session.tools.names:
            chat.session.commands.require_allowed = self._refuse_commands
        spending = chat.session.spending
        spending.advice = f"Ask the teacher of class {self.name!r} for more."
        for call in _calls_in(records):
            spending.carry(call)
        if not any(record.kind == "session_info" for record in records):
            self._run(lambda: chat.session.rename(f"{student} · {self.name}"))
        return chat

    def session_id(self, student: str) -> str:
        """The id of a student's session in the store. Raises InvalidOptions for no name."""
        if not _is_name(student):
            raise InvalidOptions(f"{student!r} is no name of a student.")
        return f"{self.name}{SEPARATOR}{student}"

    def log(self) -> ClassLog:
        """What every student has done so far, read from the store. Raises StoreError."""
        log: ClassLog = self._run(lambda: read_log(self.store, self.name, SEPARATOR))
        return log

    def explorer(self, student: str) -> SessionExplorer:
        """The session of a student as it is stored. Raises SessionError ``session_not_found``."""
        return SessionExplorer(self.store, session_id=self.session_id(student))

    def _model(self, wanted: str | None) -> str | None:
        if wanted is None:
            return next(iter(self.models), None)
        if wanted not in self.models:
            refused = self._refused(wanted)
            raise InvalidOptions(refused.message, advice=refused.advice)
        return wanted

    def _refused(self, wanted: object) -> SessionError:
        names = ", ".join(self.models) or "the one that is used by itself"
        return _fixed(
            f"The models of class {self.name!r} are fixed, and {wanted!r} is none of them.",
            f"There is {names}.",
        )

    def _refuse_commands(self) -> NoReturn:
        raise _fixed(f"The tools of class {self.name!r} are fixed.")

    def _load(self, session_id: str) -> Sequence[Record]:
        found: Sequence[Record] = self._run(lambda: self.store.load(session_id))
        return found

    def _run(self, work: Callable[[], Any]) -> Any:
        return engine_thread().submit(work).result(COMMAND_TIMEOUT_S)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _models(models: Models) -> dict[str, str | Callable[[], Model]]:
    if models is None:
        return {}
    if not models:
        advice = "Leave it out for what a chat takes by itself."
        raise InvalidOptions(f"models={models!r} names no model.", advice=advice)
    if isinstance(models, Mapping):
        return dict(models)
    if isinstance(models, str) or not all(isinstance(model, str) for model in models):
        raise InvalidOptions(
            f"models={models!r} are no names of models.",
            advice="Write models=['openai:gpt-5'], or {'name': function that makes a model}.",
        )
    for model in models:
        require_form(model, "models holds {}, which")
    return {model: model for model in models}


def _calls_in(records: Iterable[Record]) -> Iterable[ModelCall]:
    """The model calls that were counted in those records."""
    kinds = Usage.__struct_fields__
    for counted in Journal.of(records).usage:
        cost = counted.get("amount")
        yield ModelCall(
            model="earlier",
            usage=Usage(**{kind: counted.get(kind, 0) for kind in kinds}),
            cost=None if cost is None else Cost(Decimal(str(cost)), counted.get("currency", "USD")),
            purpose=counted.get("purpose"),
            agent_id=counted.get("agent_id"),
        )


def _fixed(message: str, advice: str = "Ask your teacher.") -> SessionError:
    return SessionError(CLASS_FIXED, message, advice=advice)
