import { ResetPasswordInput, VerifyEmailInput } from '@rapport/core/auth/auth.schema.ts'
import { inspectVerification, verifyEmail } from '@rapport/core/auth/email-verification.ts'
import { inspectPasswordReset } from '@rapport/core/auth/password-resets.ts'
import { resetPassword } from '@rapport/core/operations/mail/reset-password.ts'
import { LinkToken } from '@rapport/core/kernel/validation.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { acceptInvite, inspectInvite } from '@rapport/core/team/invites.ts'
import { AcceptInviteInput } from '@rapport/core/team/team.schema.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { ConstantTime } from '../http/constant-time.ts'
import { toErrorBody } from '../http/errors/error-handler.ts'
import { PublicQuery } from '../routes/shapes.ts'
import { type AccountPage, describeRejection, parseFields, sendAccountPage } from './account-page.ts'
import { acceptsHtml, errorPageResponse, pageResponse, parsePostedForm } from './document.ts'
import { forgotPasswordPage } from './forgot-password-page.ts'
import { type Message, sendMessage } from './message-page.ts'

const TokenQuery = PublicQuery.extend({ token: LinkToken(200).describe('The token in the link.') })
const PostedFields = z.record(z.string(), z.string()).nullish().describe('The fields of the page.')

interface Page {
  /** The name of the page in its operationIds. */
  name: string
  /** The name of the page in its summaries. */
  summary: string
  /** The rate limit, where the specification sets one. */
  limit?: { max: number }
  /** Error responses besides the 400 that every page has. */
  errorResponses?: Record<number, typeof errorPageResponse>
  /** Checks the token without changing anything. Throws `invalid_token` if the link does not work any more. */
  inspect: (base: BaseCtx, token: string) => Promise<AccountPage>
  submit: (base: BaseCtx, fields: Record<string, string>) => Promise<void>
  done: Message
  /** What to do about a link that does not work. */
  invalidLink: Pick<Message, 'text' | 'link'>
}

const pages: Record<string, Page> = {
  '/reset-password': {
    name: 'ResetPassword',
    summary: 'Choose a new password',
    limit: { max: 10 },
    async inspect(base, token) {
      const { email, branding } = await inspectPasswordReset(base, token)
      return {
        heading: `Choose a new password for ${email}`,
        title: 'Choose a new password',
        text: 'Use at least 12 characters. You will be logged out on all devices.',
        button: 'Set password',
        password: 'new-password',
        email,
        branding,
      }
    },
    submit: (base, { token, password }) => resetPassword(base, parseFields(ResetPasswordInput, { token, password })),
    done: { title: 'Your password is set', text: 'You can now log in with your new password.' },
    invalidLink: {
      text: 'It may be incomplete, already used or older than one hour. Request a new link to choose a password.',
      link: { url: 'forgot-password', label: 'Request a new link' },
    },
  },
  '/accept-invite': {
    name: 'AcceptInvite',
    summary: 'Accept the invite',
    limit: { max: 10 },
    errorResponses: { 401: errorPageResponse, 403: errorPageResponse, 409: errorPageResponse },
    async inspect(base, token) {
      const { email, branding, hasAccount } = await inspectInvite(base, token)
      return {
        heading: `Join ${branding.name} as ${email}`,
        title: `Join ${branding.name}`,
        text: hasAccount
          ? 'You already have an account with this address. Enter its password.'
          : 'Choose a password with at least 12 characters.',
        button: 'Join',
        hasName: !hasAccount,
        password: hasAccount ? 'current-password' : 'new-password',
        email,
        branding,
      }
    },
    submit: (base, fields) => acceptInvite(base, parseFields(AcceptInviteInput, fields)),
    done: { title: 'Welcome', text: 'You have joined the workspace. You can now log in.' },
    invalidLink: {
      text: 'It may be incomplete, already used, withdrawn or older than seven days. Ask the person who invited you to send the invite again.',
    },
  },
  '/verify-email': {
    name: 'VerifyEmail',
    summary: 'Verify your email address',
    errorResponses: { 401: errorPageResponse },
    async inspect(base, token) {
      const { email, branding } = await inspectVerification(base, token)
      return {
        heading: `Verify ${email}`,
        title: 'Verify your email address',
        text: 'Enter your password to verify that this email address is yours.',
        button: 'Verify',
        password: 'current-password',
        email,
        branding,
      }
    },
    submit: (base, { token, password }) => verifyEmail(base, parseFields(VerifyEmailInput, { token, password })),
    done: { title: 'Your email address is verified', text: 'Thank you. You can close this page.' },
    invalidLink: {
      text: 'It may be incomplete or older than seven days. Request a new verification email. Or choose a new password: this verifies your address too.',
      link: { url: 'forgot-password', label: 'Choose a new password' },
    },
  },
}

/**
 * The pages behind the links in invite, password reset and verification emails. GET changes nothing; the form posts to
 * the URL of the page.
 */
export const accountPages: FastifyPluginAsyncZod<ConstantTime> = async (app, timings) => {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: 65_536 },
    async (_: unknown, raw: Buffer) => parsePostedForm(raw),
  )
  app.setErrorHandler((error, request, reply) => {
    const page = pages[request.routeOptions.url ?? '']
    if (!page || toErrorBody(error)?.statusCode !== 400 || !acceptsHtml(request)) throw error
    return sendMessage(reply.code(400), { title: 'This link does not work', ...page.invalidLink })
  })
  await app.register(forgotPasswordPage, timings)
  for (const [path, page] of Object.entries(pages)) {
    const schema = {
      tags: ['Hosted pages'],
      querystring: TokenQuery,
      response: { 200: pageResponse, 400: errorPageResponse },
    }
    app.get(
      path,
      {
        schema: {
          ...schema,
          operationId: `pages.show${page.name}`,
          summary: `Show the page "${page.summary}"`,
          description:
            'The page that the link in an email opens. It names the account, and changes nothing: its form sends the POST. Returns 400 if the link does not work any more.',
        },
      },
      async ({ baseCtx, query }, reply) => sendAccountPage(reply, await page.inspect(baseCtx, query.token)),
    )
    app.post(
      path,
      {
        config: page.limit ? { rateLimit: page.limit } : {},
        schema: {
          ...schema,
          operationId: `pages.submit${page.name}`,
          summary: `Submit the page "${page.summary}"`,
          description: 'Shows whether it worked. An invalid field shows the form again.',
          consumes: ['application/x-www-form-urlencoded'],
          body: PostedFields,
          response: { ...schema.response, ...page.errorResponses },
        },
      },
      (request, reply) => submitPage(request, reply, page),
    )
  }
}

type PostRequest = FastifyRequest<{ Querystring: z.output<typeof TokenQuery>; Body: z.output<typeof PostedFields> }>

async function submitPage({ baseCtx, query, body }: PostRequest, reply: FastifyReply, page: Page) {
  const shown = await page.inspect(baseCtx, query.token)
  try {
    await page.submit(baseCtx, { ...body, token: query.token })
  } catch (error) {
    const { statusCode, problem } = describeRejection(error)
    return sendAccountPage(reply.code(statusCode), shown, { problem, name: body?.['name'] })
  }
  return sendMessage(reply, { ...page.done, branding: shown.branding })
}
