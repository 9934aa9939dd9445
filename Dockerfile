# One image for the API, the worker and the migration; which of them is the command.
FROM node:26-slim

LABEL org.opencontainers.image.title=Rapport \
      org.opencontainers.image.version=0.2.0 \
      org.opencontainers.image.licenses=MIT

RUN npm install --global pnpm@12.21.0

WORKDIR /app
ENV NODE_ENV=production

# What is installed changes with these files alone, so it is a layer of its own.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY apps/api/package.json apps/api/
COPY apps/cli/package.json apps/cli/
COPY apps/worker/package.json apps/worker/
COPY packages/core/package.json packages/core/
# Not "pnpm deploy": it would put TypeScript of ours under node_modules, where Node does not run it.
# The image has a Node of its own.
RUN pnpm install --prod --frozen-lockfile \
    && rm -rf node_modules/.pnpm/node-linux-* \
    && rm -rf /root/.cache /root/.local/share/pnpm

COPY . .

USER node
EXPOSE 3000
CMD ["node", "--heap-growing-percent=50", "--max-semi-space-size=4", "apps/api/src/main.ts"]
