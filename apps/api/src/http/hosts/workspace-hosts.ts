import type { Database } from '@rapport/core/db/client.ts'
import { createHostDirectory, type HostDirectory } from '@rapport/core/domains/hosts/host-directory.ts'
import { notFound } from '@rapport/core/kernel/errors.ts'
import type { Settings } from '@rapport/core/request/context.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    hosts: HostDirectory
  }
}

interface Options {
  database: Database
  settings: Settings
  ttlMs: number
  timeoutMs: number
}

/**
 * At the host of a workspace, only public pages exist, and only those of the workspace, besides the links that were mailed
 * by one that had the host before. Every other host is that of the installation. `x-forwarded-host` counts only if it is
 * from a trusted proxy.
 */
export const workspaceHosts = fp(
  async (app: FastifyInstance, { database, settings, ttlMs, timeoutMs }: Options) => {
    app.decorate('hosts', createHostDirectory({ db: database.db, settings, ttlMs, timeoutMs }))
    app.addHook('onRequest', (request, _reply, done) => {
      // Most requests: nothing to wait for.
      if (app.hosts.isInstallation(request.host)) return done()
      app.hosts.find(request.host).then(
        (pagesHost) => {
          if (pagesHost) request.baseCtx = { ...request.baseCtx, pagesHost }
          done()
        },
        // Probes and metrics work without the database.
        (error: unknown) => done(request.routeOptions.config.rateLimit === false ? undefined : (error as Error)),
      )
    })
    // After the rate limits, and before the authentication.
    // oxlint-disable-next-line max-params -- A hook of Fastify that makes no request wait.
    app.addHook('preParsing', ({ baseCtx, routeOptions }, _reply, payload, done) => {
      if (baseCtx.pagesHost && !isPublicPath(routeOptions.url ?? '')) throw notFound('Page')
      done(null, payload)
    })
  },
  { name: 'workspace-hosts', dependencies: ['request-context'] },
)

/** Whether a path, or the path of a route, is for the visitors of a workspace. */
export const isPublicPath = (path: string): boolean => /^\/(public|f|embed)\//.test(path)
