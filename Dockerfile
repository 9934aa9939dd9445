# One image for the API, the worker and the migrations; the command selects the program.
FROM node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

LABEL org.opencontainers.image.title=Rapport \
      org.opencontainers.image.version=0.2.0 \
      org.opencontainers.image.licenses=MIT

RUN npm install --global pnpm@12.21.0

WORKDIR /app
ENV NODE_ENV=production

# The dependencies change only with these files, so they are a separate layer.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY apps/api/package.json apps/api/
COPY apps/cli/package.json apps/cli/
COPY apps/worker/package.json apps/worker/
COPY packages/core/package.json packages/core/
COPY packages/sdk/package.json packages/sdk/
# Not "pnpm deploy": it would copy our TypeScript into node_modules, where Node does not run it.
# The Node installed from npm is removed, as the image has its own.
RUN pnpm install --prod --frozen-lockfile \
    && rm -rf node_modules/.pnpm/node-linux-* \
    && rm -rf /root/.cache /root/.local/share/pnpm

COPY . .

USER node
EXPOSE 3000
CMD ["node", "--heap-growing-percent=50", "--max-semi-space-size=4", "apps/api/src/main.ts"]
