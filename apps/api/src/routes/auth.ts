import { readMe } from '@rapport/core/auth/authenticate.ts'
import {
  ForgotPasswordInput,
  LoginInput,
  Me,
  OpenSession,
  OwnWorkspace,
  ResetPasswordInput,
  Session,
  SessionQuery,
  SignupInput,
  VerifyEmailInput,
  WorkspaceQuery,
} from '@rapport/core/auth/auth.schema.ts'
import { resendVerificationMail, verifyEmail } from '@rapport/core/auth/email-verification.ts'
import { deleteSession, listOwnWorkspaces, listSessions } from '@rapport/core/auth/own-sessions.ts'
import { requestPasswordReset } from '@rapport/core/auth/password-resets.ts'
import { logIn, logOut, signUp } from '@rapport/core/auth/login.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { acceptInvite } from '@rapport/core/team/invites.ts'
import { AcceptInviteInput } from '@rapport/core/team/team.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { bearerToken } from '../http/authentication.ts'
import { inConstantTime } from '../http/constant-time.ts'
import { Empty, IdParams, NoBody, NoQuery } from './shapes.ts'
import { resetPassword } from '@rapport/core/operations/reset-password.ts'

const tags = ['Authentication']

/** Where credentials come from; these routes carry none. */
export const credentialRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/auth/signup',
    {
      config: { rateLimit: { max: 10 }, errorStatuses: [403, 409] },
      schema: {
        tags,
        summary: 'Create a user and their workspace',
        description:
          'The user becomes OWNER of a new workspace with a pipeline "Sales". A mail asks them to confirm their address, which nothing depends on. A taken address is a 409. Where the operator closed sign-up, a 403.',
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
      config: { rateLimit: { max: 10 }, errorStatuses: [401] },
      schema: {
        tags,
        summary: 'Open a session',
        description:
          'For thirty days. A wrong address and a wrong password are answered alike, in the same time. Who was wrong ten times must wait, which is a 429, and after fifty times so must all who never logged in from where they are.',
        querystring: NoQuery,
        body: LoginInput,
        response: { 200: Session },
      },
    },
    (request) => inConstantTime(() => logIn(request.baseCtx, request.body)),
  )

  app.post(
    '/auth/forgot-password',
    {
      config: { rateLimit: { max: 5 } },
      schema: {
        tags,
        summary: 'Ask for a new password',
        description: 'Mails a link that lasts an hour, if anyone has the address. The answer is the same either way.',
        querystring: NoQuery,
        body: ForgotPasswordInput,
        response: { 202: Empty },
      },
    },
    async (request, reply) => {
      await inConstantTime(() => requestPasswordReset(request.baseCtx, request.body))
      reply.code(202).serializer(() => '')
      return null
    },
  )

  app.post(
    '/auth/reset-password',
    {
      config: { rateLimit: { max: 10 } },
      schema: {
        tags,
        summary: 'Set a new password by the token of a mail',
        description:
          'The token is good once. Every session of the user ends. Of an account whose address was never confirmed so do the API keys and invites that it made, and the webhooks of its workspaces are switched off: somebody else may have signed up with the address.',
        querystring: NoQuery,
        body: ResetPasswordInput,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await resetPassword(request.baseCtx, request.body)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/auth/verify-email',
    {
      config: { errorStatuses: [401] },
      schema: {
        tags,
        summary: 'Confirm an address by the token of a mail',
        description: 'Needs the password as well: a wrong one is a 401. To confirm twice is no error.',
        querystring: NoQuery,
        body: VerifyEmailInput,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await verifyEmail(request.baseCtx, request.body)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/auth/accept-invite',
    {
      config: { rateLimit: { max: 10 }, errorStatuses: [401, 409] },
      schema: {
        tags,
        summary: 'Join a workspace by the token of a mail',
        description: 'Makes the user. Who has an account already must send its password, or it is a 401.',
        querystring: NoQuery,
        body: AcceptInviteInput,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await acceptInvite(request.baseCtx, request.body)
      return reply.code(204).send(null)
    },
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

  const common = { tags, security: [{ bearer: [] }] }
  app.post(
    '/auth/resend-verification',
    {
      config: { role: 'VIEWER', errorStatuses: [403] },
      schema: {
        ...common,
        summary: 'Ask for another mail to confirm your address',
        description:
          'At most once an hour: more is a 429. A 409 where it is confirmed already, and a 403 for an API key, which has no address.',
        querystring: NoQuery,
        body: NoBody,
        response: { 202: Empty },
      },
    },
    async (request, reply) => {
      await resendVerificationMail(request.ctx)
      reply.code(202).serializer(() => '')
      return null
    },
  )

  app.get(
    '/sessions',
    {
      schema: {
        ...common,
        summary: 'List your sessions',
        description: 'In every workspace of yours. An API key has none.',
        querystring: SessionQuery,
        response: { 200: PageOf(OpenSession) },
      },
    },
    (request) => listSessions(request.ctx, request.query),
  )

  app.delete(
    '/sessions/:id',
    {
      config: { role: 'VIEWER' },
      schema: {
        ...common,
        summary: 'End one of your sessions',
        params: IdParams('ses'),
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteSession(request.ctx, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/workspaces',
    {
      schema: {
        ...common,
        summary: 'List your workspaces',
        description: 'With your role in each. `POST /auth/login` with `workspaceId` opens a session in one of them.',
        querystring: WorkspaceQuery,
        response: { 200: PageOf(OwnWorkspace) },
      },
    },
    (request) => listOwnWorkspaces(request.ctx, request.query),
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
