import { readMe } from '@rapport/core/auth/authenticate.ts'
import { LoginInput, Me, Session, SignupInput } from '@rapport/core/auth/auth.schema.ts'
import { logIn, logOut, signUp } from '@rapport/core/auth/sessions.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { bearerToken } from '../auth.ts'
import { Empty, NoBody, NoQuery } from './shapes.ts'

const tags = ['Authentication']

/** Where credentials come from; these routes carry none. */
export const credentialRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/auth/signup',
    {
      config: { rateLimit: { max: 10 } },
      schema: {
        tags,
        summary: 'Create a user and their workspace',
        description: 'The user becomes OWNER of a new workspace with a pipeline "Sales". A taken address is a 409.',
        querystring: NoQuery,
        body: SignupInput,
        response: { 201: Session },
      },
    },
    async (request, reply) => {
      const session = await signUp(request.baseCtx, request.body)
      reply.code(201).header('location', '/auth/me')
      return session
    },
  )

  app.post(
    '/auth/login',
    {
      config: { rateLimit: { max: 10 } },
      schema: {
        tags,
        summary: 'Open a session',
        description: 'For thirty days. A wrong address and a wrong password are answered alike, in the same time.',
        querystring: NoQuery,
        body: LoginInput,
        response: { 200: Session },
      },
    },
    (request) => logIn(request.baseCtx, request.body),
  )
}

/** What a credential's holder can ask of the credential itself. */
export const meRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/auth/me',
    {
      schema: {
        tags,
        summary: 'Who this credential is',
        security: [{ bearer: [] }],
        querystring: NoQuery,
        response: { 200: Me },
      },
    },
    (request) => readMe(request.ctx),
  )

  app.post(
    '/auth/logout',
    {
      config: { role: 'VIEWER' },
      schema: {
        tags,
        summary: 'End this session',
        description: 'Its token is dead at once. An API key has no session to end; it is revoked by deleting it.',
        security: [{ bearer: [] }],
        querystring: NoQuery,
        body: NoBody,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await logOut(request.ctx, bearerToken(request) ?? '')
      reply.code(204)
      return null
    },
  )
}
