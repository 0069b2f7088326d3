"""Settings every process shares: environment variables with the prefix FANFUSE_ (and NATS_URL).

A blank variable counts as unset. Precedence: argument > environment > default.
"""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from fanfuse_contracts import limits
from fanfuse_contracts.access import Access, AccessError
from fanfuse_contracts.addresses import checked_addresses


class SettingsError(Exception):
    """Settings can't be used; each line names the variables that state the value, and says what is wrong with it."""


class ProcessSettings(BaseSettings):
    """Settings of a process, stated by variables of the environment. A fault is a `SettingsError`."""

    @model_validator(mode="wrap")
    @classmethod
    def _told_by_variables(cls, stated: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(stated)
        except ValidationError as error:
            raise SettingsError("\n".join(cls._faults(error))) from error

    @classmethod
    def _faults(cls, error: ValidationError) -> Iterator[str]:
        for row in error.errors(include_url=False, include_input=False):
            yield f"{cls.stated_by(str(row['loc'][0]))}: {row['msg'].removeprefix('Value error, ')}"

    @classmethod
    def stated_by(cls, *names: str) -> str:
        """The variables that state these settings, for a message."""
        return ", ".join(" or ".join(cls.variables(name)) for name in names)

    @classmethod
    def variables(cls, name: str) -> list[str]:
        """The variables that state a setting, the first one before the others."""
        alias = cls.model_fields[name].validation_alias
        if isinstance(alias, AliasChoices):
            return [str(choice) for choice in alias.choices if str(choice).isupper()]
        return [f"{cls.model_config.get('env_prefix', '')}{name.upper()}"]


class Creates(StrEnum):
    """What of the bus a process creates where it is missing; for the rest it waits."""

    ALL = "all"
    MEMORY = "memory"
    """Streams in memory alone, which go with a lone broker."""
    NOTHING = "nothing"


class RuntimeSettings(ProcessSettings):
    """One process of Fanfuse."""

    model_config = SettingsConfigDict(
        env_prefix="FANFUSE_", env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    nats_url: Annotated[str, AfterValidator(checked_addresses)] = Field(
        default="nats://127.0.0.1:4222", validation_alias=AliasChoices("nats_url", "NATS_URL", "FANFUSE_NATS_URL")
    )
    """One URL, or several separated by commas."""
    nats_user: str | None = None
    """Name of this process's user on the bus, where the server knows users: it hears answers below `_INBOX_<user>`."""
    nats_password: SecretStr | None = None
    """Of that user. A password, an nkey and a credentials file exclude each other."""
    nats_nkey: Path | None = None
    """File with the seed of this process's nkey."""
    nats_creds: Path | None = None
    """Credentials file (JWT and nkey) of this process."""
    nats_ca_file: Path | None = None
    """PEM file of the authority that signed the server's certificate. Unset: the system's."""
    nats_cert_file: Path | None = None
    """PEM file of this process's own certificate, where the server asks for one."""
    nats_key_file: Path | None = None
    """PEM file of its key."""
    creates: Creates = Creates.ALL
    """What it creates on the bus where it is missing: `all`, `memory` (streams in memory alone) or `nothing`; it waits
    for the rest, which `fanfuse deploy setup` creates."""
    stream_replicas: Annotated[int, Field(ge=1, le=5)] = 1
    """Copies of each stream it creates, on as many servers."""
    data_dir: Path = Path(".fanfuse")
    """Index generations of embedded engines, and the embedding cache."""
    config_file: Path | None = None
    """The operator's fanfuse.yaml."""
    ops_host: str = "127.0.0.1"
    ops_port: Annotated[int, Field(ge=0, le=65_535)] | None = None
    """Port of /healthz, /readyz and /metrics; 0 picks a free one; unset: no HTTP endpoint."""
    log_level: str = "info"
    drain_timeout_s: Annotated[float, Field(gt=0)] = limits.DRAIN_TIMEOUT_S
    """How long a stop waits for messages in flight before it gives them back."""
    trace_sample: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """Share of traces recorded when no parent decides."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        try:
            self.access()
        except AccessError as error:
            raise SettingsError(f"{self.stated_by(*(f'nats_{name}' for name in error.fields))}: {error}") from error
        return self

    def access(self) -> Access:
        """Who this process is on the bus; raises `AccessError` for what contradicts itself."""
        return Access(
            user=self.nats_user,
            password=self.nats_password.get_secret_value() if self.nats_password is not None else None,
            nkey=self.nats_nkey,
            creds=self.nats_creds,
            ca_file=self.nats_ca_file,
            cert_file=self.nats_cert_file,
            key_file=self.nats_key_file,
        )
