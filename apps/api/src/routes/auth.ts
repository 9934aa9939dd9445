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
import { resetPassword } from '@rapport/core/operations/mail/reset-password.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { bearerToken } from '../http/authentication.ts'
import { type ConstantTime, roundUpDuration } from '../http/constant-time.ts'
import { readVisitorLocale } from '../pages/page-language.ts'
import { Empty, IdParams, EmptyBody } from './shapes.ts'

const tags = ['Authentication']

const logInDescription =
  'Creates a session that lasts 30 days. An unknown address and a wrong password return the same 401 in the same ' +
  'time. After 10 failures from one client, further attempts return 429 with exponential backoff; after 50 failures ' +
  'in total, attempts from clients that have not logged in during the last 90 days return 429 too.'

const resetPasswordDescription =
  'Sets a new password with the single-use token from the email, and ends all sessions of the user. If the address was ' +
  'never verified, someone else may have signed up with it: the API keys and invites that the user created are ' +
  'revoked, and of the workspaces that they own, the webhooks are disabled and the mail hooks deleted.'

/** The routes that issue and restore credentials. They require none. */
export const credentialRoutes: FastifyPluginAsyncZod<ConstantTime> = async (app, timings) => {
  app.post(
    '/auth/signup',
    {
      config: { rateLimit: { max: 10 }, errorStatuses: [403, 409] },
      schema: {
        tags,
        operationId: 'auth.signUp',
        summary: 'Sign up',
        description:
          'Creates a user and a workspace with a pipeline named "Sales", and makes the user its OWNER. An email asks the user to verify the address, in the language of `Accept-Language`; verification is optional. Returns 409 if the address is already registered, and 403 if the operator has closed sign-up.',
        body: SignupInput,
        response: { 201: Session },
      },
    },
    async (request, reply) => {
      const session = await signUp(request.baseCtx, { ...request.body, locale: readVisitorLocale(request) })
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
        operationId: 'auth.logIn',
        summary: 'Log in',
        description: logInDescription,
        body: LoginInput,
        response: { 200: Session },
      },
    },
    (request) => roundUpDuration(timings, () => logIn(request.baseCtx, request.body)),
  )

  app.post(
    '/auth/forgot-password',
    {
      config: { rateLimit: { max: 5 } },
      schema: {
        tags,
        operationId: 'auth.forgotPassword',
        summary: 'Request a password reset',
        description:
          'Emails a reset link that expires after one hour, in the language of `Accept-Language`, or else of the workspace. An unknown address gets the same response, but no email.',
        body: ForgotPasswordInput,
        response: { 202: Empty },
      },
    },
    async (request, reply) => {
      const input = { ...request.body, locale: readVisitorLocale(request) }
      await roundUpDuration(timings, () => requestPasswordReset(request.baseCtx, input))
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
        operationId: 'auth.resetPassword',
        summary: 'Reset a password',
        description: resetPasswordDescription,
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
        operationId: 'auth.verifyEmail',
        summary: 'Verify an email address',
        description:
          'Requires the token from the email and the password. Returns 401 if the password is wrong. Verifying an address again is a no-op.',
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
      config: { rateLimit: { max: 10 }, errorStatuses: [401, 403, 409] },
      schema: {
        tags,
        operationId: 'auth.acceptInvite',
        summary: 'Accept an invite',
        description:
          'Adds a user to the workspace with the token from the email. Creates the user if the address has no account. Otherwise `password` must be the password of the account; a wrong one returns 401.',
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

/** The routes about the credential of the request and its user. */
export const meRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/auth/me',
    {
      schema: {
        tags,
        operationId: 'auth.me',
        summary: 'Retrieve the current credential',
        description: 'Returns the user or API key that made the request, its role and its workspace.',
        security: [{ bearer: [] }],
        response: { 200: Me },
      },
    },
    (request) => readMe(request.ctx),
  )

  const common = { tags, security: [{ bearer: [] }] }
  app.post(
    '/auth/resend-verification',
    {
      // Without `idempotent(…)`: there is at most one email an hour.
      config: { role: 'VIEWER', errorStatuses: [403, 409], worksWhenSuspended: true },
      schema: {
        ...common,
        operationId: 'auth.resendVerification',
        summary: 'Resend the verification email',
        description:
          'Emails a new link to verify your address, in the language of `Accept-Language`, or else of the workspace, at most once an hour; more requests return 409 with `retry-after`. Returns 409 if the address is already verified, and 403 for an API key, which has no address.',
        body: EmptyBody,
        response: { 202: Empty },
      },
    },
    async (request, reply) => {
      await resendVerificationMail(request.ctx, readVisitorLocale(request))
      reply.code(202).serializer(() => '')
      return null
    },
  )

  app.get(
    '/sessions',
    {
      schema: {
        ...common,
        operationId: 'sessions.list',
        summary: 'List your sessions',
        description: 'Returns your sessions in all workspaces. An API key has no sessions.',
        querystring: SessionQuery,
        response: { 200: PageOf(OpenSession) },
      },
    },
    (request) => listSessions(request.ctx, request.query),
  )

  app.delete(
    '/sessions/:id',
    {
      config: { role: 'VIEWER', worksWhenSuspended: true },
      schema: {
        ...common,
        operationId: 'sessions.delete',
        summary: 'End a session',
        description: 'The token of the session is invalid immediately. You can end only your own sessions.',
        params: IdParams('ses'),
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
        operationId: 'workspaces.list',
        summary: 'List your workspaces',
        description:
          'Returns your workspaces and your role in each. `POST /auth/login` with `workspaceId` creates a session in one of them.',
        querystring: WorkspaceQuery,
        response: { 200: PageOf(OwnWorkspace) },
      },
    },
    (request) => listOwnWorkspaces(request.ctx, request.query),
  )

  app.post(
    '/auth/logout',
    {
      // Without `idempotent(…)`: the credential of a repetition has ended.
      config: { role: 'VIEWER', errorStatuses: [403], worksWhenSuspended: true },
      schema: {
        tags,
        operationId: 'auth.logOut',
        summary: 'Log out',
        description:
          'Ends the session of the request; its token is invalid immediately. Returns 403 for an API key, which has no session: to revoke a key, delete it.',
        security: [{ bearer: [] }],
        body: EmptyBody,
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
