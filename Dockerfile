# syntax=docker/dockerfile:1
# The images of the services, a target each:
#   docker build --target api -t tocsin/api .         (also: checker, notifier, migrate, cli)
# Node 24: an https check costs it two thirds of what it costs Node 20 (docs/performance.md).
# Not older: its Brotli and TLS have known holes (SECURITY.md).
ARG NODE_IMAGE=node:24.22.1-bookworm-slim

# --- Installs and builds the whole tree; nothing of it but what `assemble.sh` takes gets into an image. ---
FROM ${NODE_IMAGE} AS build
ENV CI=true PNPM_CONFIG_STORE_DIR=/pnpm/store
WORKDIR /src
# The packages first: they change less often than the sources.
COPY pnpm-lock.yaml pnpm-workspace.yaml ./
RUN npx --yes pnpm@12.21.0 fetch
COPY . .
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --offline \
  && node node_modules/typescript/bin/tsc -b \
  && cd services/dashboard && node node_modules/vite/bin/vite.js build
RUN infra/images/assemble.sh api /out/api \
  && infra/images/assemble.sh checker /out/checker \
  && infra/images/assemble.sh notifier /out/notifier \
  && infra/images/assemble.sh cli /out/cli

# --- What all images share ---
FROM ${NODE_IMAGE} AS base
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tocsin" \
      org.opencontainers.image.description="Self-hosted uptime monitoring for platform teams" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production LOG_FORMAT=json
WORKDIR /app
# By number, so that Kubernetes can see that it is not root. It owns nothing: the files are root's, and read-only.
USER 1000:1000
STOPSIGNAL SIGTERM

FROM base AS api
COPY --from=build /out/api ./
ENV PORT=3000 DASHBOARD_DIR=/app/dashboard
EXPOSE 3000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --start-interval=2s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]

FROM base AS checker
COPY --from=build /out/checker ./
ENV HEALTH_PORT=8081
EXPOSE 8081
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --start-interval=2s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]

FROM base AS notifier
COPY --from=build /out/notifier ./
ENV HEALTH_PORT=8081
EXPOSE 8081
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --start-interval=2s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]

# --- The api's files with another command: brings the database to the version's schema, and ends. ---
FROM api AS migrate
HEALTHCHECK NONE
CMD ["node", "dist/migrate/main.js"]

# --- The command `tocsin`, for monitors as code: docker run … tocsin/cli apply --yes ---
FROM base AS cli
COPY --from=build /out/cli ./
ENTRYPOINT ["node", "/app/bin/tocsin.js"]
CMD ["--help"]
