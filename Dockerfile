# Builds agent-service, and with --target example the backend of examples/node-backend. docs/operations/deploy.md says how to run them.

FROM node:20.19.5-bookworm-slim AS build
WORKDIR /repo
COPY . .
RUN npm ci --include-workspace-root --workspace service --workspace examples/node-backend \
  && npm run build:js

FROM node:20.19.5-bookworm-slim AS dependencies
WORKDIR /repo
COPY . .
RUN npm ci --omit=dev --ignore-scripts --workspace service

FROM build AS example
ENV NODE_ENV=production HOST=0.0.0.0
USER node
EXPOSE 3000
ENTRYPOINT ["node", "--import", "tsx", "examples/node-backend/src/server.ts"]

FROM node:20.19.5-bookworm-slim AS service
ENV NODE_ENV=production AGENT_SERVICE_HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /repo/node_modules node_modules
COPY --from=build /repo/service/package.json service/package.json
COPY --from=build /repo/service/dist service/dist
USER node
EXPOSE 4001 4002
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.AGENT_SERVICE_AUTH_PORT || 4001}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/service/dist/cli.js"]
