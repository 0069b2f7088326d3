"""The engine servers this process may talk to, by the engine's name in the operators' file.

In: a backend of the file. Out: its client, which has opened no socket yet. An engine's module, `connect` in it and the
package's extra go by the engine's name. Its library is imported only when a backend of it is asked for, so an image
holds the libraries of its own backends and no other.
"""

from importlib import import_module

from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerBackend, ServerSettings
from fanfuse_contracts.backends import BackendConfig
from fanfuse_runtime.configfile import ConfigError


def connect_server(where: str, config: BackendConfig) -> ServerBackend:
    """The client of a server; `where` is its key in the file. Raises `ConfigError` that says what to do."""
    settings = settings_of(where, config)
    try:
        module = import_module(f"{__package__}.{config.engine.value}")
    except ImportError as error:
        engine = config.engine.value
        raise ConfigError(
            f"{where}: engine {engine} needs a library that is not installed ({error.name or error}): "
            f"install fanfuse-backend-workers[{engine}]"
        ) from error
    try:
        backend: ServerBackend = module.connect(settings)
    except SearchError as error:
        raise ConfigError(f"{where}: {error.message}") from error
    return backend


def authority_fault(config: BackendConfig) -> str | None:
    """What keeps a worker of this backend from starting: its certificate file is missing."""
    missing = config.ca_file is not None and not config.ca_file.is_file()
    return f"there is no file {config.ca_file}" if missing else None


def settings_of(where: str, config: BackendConfig) -> ServerSettings:
    """How a server is reached; raises `ConfigError` where its certificate file can't be read."""
    assert config.url is not None, "the section was validated"
    if fault := authority_fault(config):
        raise ConfigError(f"{where}.ca_file: {fault}")
    return ServerSettings(
        url=config.url,
        username=config.username,
        password=config.password,
        api_key=config.api_key,
        ca_file=config.ca_file,
        namespace=config.namespace,
        database=config.database,
        connections=config.connections,
    )
