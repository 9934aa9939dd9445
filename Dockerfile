# syntax=docker/dockerfile:1
# One image for every program: "docker run rapport api" (the default), "worker", "migrate", or any command of the CLI.
FROM node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1 AS base

# Runs on the machine that builds, and installs the packages of the platform of the image.
FROM --platform=$BUILDPLATFORM base AS dependencies
RUN npm install --global pnpm@12.21.0
WORKDIR /app
# The dependencies change only with these files, so they are a separate layer.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY apps/api/package.json apps/api/
COPY apps/cli/package.json apps/cli/
COPY apps/worker/package.json apps/worker/
COPY packages/core/package.json packages/core/drizzle-orm.patch packages/core/
COPY packages/sdk/package.json packages/sdk/
ARG TARGETARCH
# Not "pnpm deploy": it would copy our TypeScript into node_modules, where Node does not run it.
# The Node installed from npm is removed, as the image has its own.
RUN pnpm install --prod --frozen-lockfile --os=linux --libc=glibc --cpu="$(echo "$TARGETARCH" | sed s/amd64/x64/)" \
    && rm -rf node_modules/.pnpm/node-linux-* node_modules/.bin/node

FROM base
# For "rapport backup": pg_dump must not be older than the server, and Debian's is. So it comes from PostgreSQL's own
# packages; the first of these has their key. tini forwards signals: as process 1, a program without a signal handler,
# such as the migrations, would ignore SIGTERM.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client-common ca-certificates tini \
    && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
    && apt-get install --yes --no-install-recommends postgresql-client-18 \
    && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx \
    && install --directory --owner=node --group=node /backups

WORKDIR /app
ENV NODE_ENV=production \
    PATH=/app/bin:$PATH \
    HOST=0.0.0.0 \
    PORT=3000 \
    WORKER_HOST=0.0.0.0 \
    WORKER_PORT=3100 \
    BOUNCE_HOST=0.0.0.0
COPY --from=dependencies /app ./
COPY . .

ARG REVISION=unknown
LABEL org.opencontainers.image.title=Rapport \
      org.opencontainers.image.description="A headless CRM: the API, the worker and the command line" \
      org.opencontainers.image.version=0.2.0 \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.licenses=MIT

# By number, so that Kubernetes can check that it is not root.
USER 1000:1000
EXPOSE 3000 3100
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s --retries=3 \
    CMD ["node", "ops/docker/health-check.ts"]
ENTRYPOINT ["tini", "--", "rapport"]
CMD ["api"]
