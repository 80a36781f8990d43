"""The connection to an API server: the official client's authentication, TLS, proxy and pool.

The only module that imports the client. Its own way through a request is passed by: it encodes every body
with the standard library's JSON, and that alone costs more than all decisions of a teardown.
"""

from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config
from yarl import URL


class ConfigError(Exception):
    """No API server is named, or not in a way that can be used."""


class Connection(RESTClientObject):
    """A pool of connections to one API server, as one user."""

    @classmethod
    async def open(cls, kubeconfig: str | None) -> "Connection":
        """Read a kubeconfig file, or the pod's service account when there is none; raises ConfigError."""
        configuration = Configuration()
        # Without this every call looks for a ~/.netrc, in a thread. A proxy is named in the kubeconfig.
        configuration.client_session_kwargs = {"trust_env": False}
        # Calls have their own bound; each watch takes a connection of its own, however many there are.
        configuration.connection_pool_maxsize = 0
        try:
            if kubeconfig:
                await load_kube_config(kubeconfig, client_configuration=configuration, persist_config=False)  # type: ignore[no-untyped-call] # no hints in the client
            else:
                load_incluster_config(configuration)  # type: ignore[no-untyped-call] # no hints in the client
        except (ConfigException, OSError) as error:
            where = kubeconfig or "the pod's service account"
            raise ConfigError(f"{where}: {error}") from error
        return cls(configuration)

    async def send(
        self, verb: str, path: str, headers: Mapping[str, str], body: object, bound: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send one request as our user; the answer's body is still to be read."""
        if self.pool_manager is None:
            self.pool_manager = self._create_pool_manager()
        return await self.pool_manager.request(
            verb,
            URL(self.configuration.host + path, encoded=True),
            headers={**headers, **await self._authorization()},
            data=None if body is None else orjson.dumps(body),
            timeout=bound,
            server_hostname=self.configuration.tls_server_name,
            proxy=self.proxy,
            proxy_headers=self.proxy_headers,
        )

    async def token(self) -> str:
        """Return the bearer token that requests carry, empty where we log in otherwise."""
        carried = str((await self._authorization()).get("Authorization", ""))
        return carried.removeprefix("Bearer ") if carried.startswith("Bearer ") else ""

    async def _authorization(self) -> dict[str, Any]:
        """Return the header that says who we are; the client reads a token again that runs out."""
        token = await self.configuration.get_api_key_with_prefix("BearerToken", "authorization")
        return {"Authorization": token} if token else {}
