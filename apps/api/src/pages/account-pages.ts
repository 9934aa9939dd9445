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
import { startErrorResponse, toErrorBody } from '../http/error-handler.ts'
import { type AccountPage, describeRejection, parseFields, sendAccountPage } from './account-page.ts'
import { acceptsHtml, errorPageResponse, pageResponse } from './document.ts'
import { parsePostedForm } from './posted-form.ts'
import { forgotPasswordPage } from './forgot-password-page.ts'
import { type Message, sendMessage } from './message-page.ts'
import { PageQuery, readPageLanguage } from './page-language.ts'
import type { PageTexts } from './texts/en.ts'

const TokenQuery = PageQuery.extend({ token: LinkToken(200).describe('The token in the link.') })
const PostedFields = z.record(z.string(), z.string()).nullish().describe('The fields of the page.')

type AccountTexts = PageTexts['account']

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
  inspect: (request: FastifyRequest, token: string) => Promise<AccountPage>
  submit: (base: BaseCtx, fields: Record<string, string>) => Promise<void>
  describe: (texts: AccountTexts) => Outcomes
}

/** What the page says afterwards. */
interface Outcomes {
  done: Pick<Message, 'title' | 'text'>
  /** What to do about a link that does not work. */
  broken: string
  /** The label of a link to the page "Forgot your password?". */
  requestLink?: string
  wrongPassword?: string
}

const pages: Record<string, Page> = {
  '/reset-password': {
    name: 'ResetPassword',
    summary: 'Choose a new password',
    limit: { max: 10 },
    async inspect(request, token) {
      const { email, branding } = await inspectPasswordReset(request.baseCtx, token)
      const language = readPageLanguage(request, { workspace: branding?.locale ?? null })
      const { heading, title, text, button } = language.texts.account.resetPassword
      return { language, heading: heading(email), title, text, button, password: 'new-password', email, branding }
    },
    submit: (base, { token, password }) => resetPassword(base, parseFields(ResetPasswordInput, { token, password })),
    describe: ({ resetPassword }) => resetPassword,
  },
  '/accept-invite': {
    name: 'AcceptInvite',
    summary: 'Accept the invite',
    limit: { max: 10 },
    errorResponses: { 401: errorPageResponse, 403: errorPageResponse, 409: errorPageResponse },
    async inspect(request, token) {
      const { email, branding, hasAccount } = await inspectInvite(request.baseCtx, token)
      const language = readPageLanguage(request, { workspace: branding?.locale ?? null })
      const { heading, title, knownAccount, newAccount, button } = language.texts.account.acceptInvite
      return {
        language,
        heading: heading(branding.name, email),
        title: title(branding.name),
        text: hasAccount ? knownAccount : newAccount,
        button,
        hasName: !hasAccount,
        password: hasAccount ? 'current-password' : 'new-password',
        email,
        branding,
      }
    },
    submit: (base, fields) => acceptInvite(base, parseFields(AcceptInviteInput, fields)),
    describe: ({ acceptInvite }) => acceptInvite,
  },
  '/verify-email': {
    name: 'VerifyEmail',
    summary: 'Verify your email address',
    errorResponses: { 401: errorPageResponse },
    async inspect(request, token) {
      const { email, branding } = await inspectVerification(request.baseCtx, token)
      const language = readPageLanguage(request, { workspace: branding?.locale ?? null })
      const { heading, title, text, button } = language.texts.account.verifyEmail
      return { language, heading: heading(email), title, text, button, password: 'current-password', email, branding }
    },
    submit: (base, { token, password }) => verifyEmail(base, parseFields(VerifyEmailInput, { token, password })),
    describe: ({ verifyEmail, resetPassword }) => ({ ...verifyEmail, requestLink: resetPassword.title }),
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
    const language = readPageLanguage(request)
    const { broken: text, requestLink } = page.describe(language.texts.account)
    const link =
      requestLink === undefined ? {} : { link: { url: language.link('forgot-password'), label: requestLink } }
    return sendMessage(reply.code(400), { language, title: language.texts.brokenLink, text, ...link })
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
      async (request, reply) => sendAccountPage(reply, await page.inspect(request, request.query.token)),
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

async function submitPage(request: PostRequest, reply: FastifyReply, page: Page) {
  const { baseCtx, query, body } = request
  const shown = await page.inspect(request, query.token)
  const { language, branding } = shown
  const { texts } = language
  const { done, wrongPassword = texts.account.problems.failed } = page.describe(texts.account)
  try {
    await page.submit(baseCtx, { ...body, token: query.token })
  } catch (error) {
    const rejected = describeRejection(error, { texts, wrongPassword, password: body?.['password'] })
    startErrorResponse(error, request, reply)
    return sendAccountPage(reply, shown, { ...rejected, name: body?.['name'] })
  }
  return sendMessage(reply, { language, ...done, branding })
}
