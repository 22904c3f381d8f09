# Builds every image, one target each: api, checker, notifier, agent, operator, migrate, cli. `docker compose build`
# builds them all but the operator, which needs a cluster: docker build --target operator .
# Any engine from 20.10 on can build it, with or without access to a registry of Dockerfile frontends.
# Node 24: an https check takes a third less CPU than on Node 20 (docs/performance.md). Earlier releases of Node 24 have known
# vulnerabilities in Brotli and TLS (SECURITY.md).
ARG NODE_IMAGE=node:24.22.1-bookworm-slim

# --- Installs and builds the whole repository. Images get only what `assemble.sh` copies. ---
FROM ${NODE_IMAGE} AS build
ENV CI=true PNPM_CONFIG_STORE_DIR=/pnpm/store
WORKDIR /src
# Packages first: they change less often than the sources, so this layer stays cached.
COPY pnpm-lock.yaml pnpm-workspace.yaml ./
RUN npx --yes pnpm@12.21.0 fetch
COPY . .
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --offline \
  && node node_modules/typescript/bin/tsc -b \
  && cd services/dashboard && node node_modules/vite/bin/vite.js build
RUN infra/images/assemble.sh api /out/api \
  && infra/images/assemble.sh checker /out/checker \
  && infra/images/assemble.sh notifier /out/notifier \
  && infra/images/assemble.sh agent /out/agent \
  && infra/images/assemble.sh operator /out/operator \
  && infra/images/assemble.sh cli /out/cli

# --- What all images share ---
FROM ${NODE_IMAGE} AS base
ARG NODE_IMAGE
ARG VERSION=unreleased
ARG REVISION=unknown
ARG CREATED=
LABEL org.opencontainers.image.title="Tocsin" \
      org.opencontainers.image.description="Self-hosted uptime monitoring for platform teams" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${NODE_IMAGE}" \
      dev.tocsin.sbom="/app/sbom.cdx.json"
ENV NODE_ENV=production LOG_FORMAT=json
WORKDIR /app
# A number, so that Kubernetes can verify that it is not root. The files belong to root and are read-only for it.
USER 1000:1000
STOPSIGNAL SIGTERM
# Bash takes 10 ms of CPU for this, a new Node.js process 100 ms.
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${HEALTH_PORT:-$PORT} && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]

FROM base AS api
COPY --from=build /out/api ./
ENV PORT=3000 DASHBOARD_DIR=/app/dashboard
EXPOSE 3000
CMD ["node", "dist/main.js"]

FROM base AS checker
COPY --from=build /out/checker ./
ENV HEALTH_PORT=8081
EXPOSE 8081
CMD ["node", "dist/main.js"]

FROM base AS notifier
COPY --from=build /out/notifier ./
ENV HEALTH_PORT=8081
EXPOSE 8081
CMD ["node", "dist/main.js"]

FROM base AS agent
COPY --from=build /out/agent ./
ENV HEALTH_PORT=8081
EXPOSE 8081
CMD ["node", "dist/main.js"]

FROM base AS operator
COPY --from=build /out/operator ./
ENV HEALTH_PORT=8081 PATH=/app/bin:$PATH
EXPOSE 8081
CMD ["node", "dist/main.js"]

# --- The files of the api with another command: migrates the database to this version's schema and ends. ---
FROM api AS migrate
HEALTHCHECK NONE
CMD ["node", "dist/migrate/main.js"]

# --- The command `tocsin`, for monitors as code ---
FROM base AS cli
HEALTHCHECK NONE
COPY --from=build /out/cli ./
ENTRYPOINT ["node", "/app/bin/tocsin.js"]
CMD ["--help"]
