import { ResetPasswordInput, VerifyEmailInput } from '@rapport/core/auth/auth.schema.ts'
import { verifyEmail } from '@rapport/core/auth/email-verification.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { AppError, invalidToken } from '@rapport/core/kernel/errors.ts'
import { acceptInvite } from '@rapport/core/team/invites.ts'
import { AcceptInviteInput } from '@rapport/core/team/team.schema.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type ErrorBody, toErrorBody } from '../http/error-handler.ts'
import { PublicQuery } from '../routes/shapes.ts'
import { engine, pageResponse, parsePostedForm, errorPageResponse, sendDocument, acceptsHtml } from './document.ts'
import { sendMessage } from './message-page.ts'
import { resetPassword } from '@rapport/core/operations/reset-password.ts'

const TokenQuery = PublicQuery.extend({ token: z.string().max(200).describe('The token in the link.') })
const PostedFields = z.record(z.string(), z.string()).nullish().describe('The fields of the page.')

interface Page {
  /** The name of the page in its operationIds. */
  name: string
  heading: string
  text: string
  button: string
  /** The rate limit, where the specification sets one. */
  limit?: { max: number }
  hasName: boolean
  /** Error responses besides the 400 that every page has. */
  errorResponses?: Record<number, typeof errorPageResponse>
  /** The `autocomplete` token: whether the browser fills in the password or suggests a new one. */
  password: 'new-password' | 'current-password'
  done: { title: string; text: string }
  submit: (base: BaseCtx, fields: Record<string, string>) => Promise<void>
}

const pages: Record<'/reset-password' | '/accept-invite' | '/verify-email', Page> = {
  '/reset-password': {
    name: 'ResetPassword',
    heading: 'Choose a new password',
    text: 'Use at least 12 characters. You will be logged out on all devices.',
    button: 'Set password',
    limit: { max: 10 },
    hasName: false,
    password: 'new-password',
    done: { title: 'Your password is set', text: 'You can now log in with your new password.' },
    submit: (base, { token, password }) => resetPassword(base, parse(ResetPasswordInput, { token, password })),
  },
  '/accept-invite': {
    name: 'AcceptInvite',
    heading: 'Accept the invite',
    text: 'Choose a password with at least 12 characters. If you already have an account, enter its password.',
    button: 'Join',
    limit: { max: 10 },
    hasName: true,
    errorResponses: { 401: errorPageResponse, 409: errorPageResponse },
    password: 'new-password',
    done: { title: 'Welcome', text: 'You have joined the workspace. You can now log in.' },
    submit: (base, fields) => acceptInvite(base, parse(AcceptInviteInput, fields)),
  },
  '/verify-email': {
    name: 'VerifyEmail',
    heading: 'Verify your email address',
    text: 'Enter your password to verify your email address.',
    button: 'Verify',
    hasName: false,
    errorResponses: { 401: errorPageResponse },
    password: 'current-password',
    done: { title: 'Your email address is verified', text: 'Thank you. You can close this page.' },
    submit: (base, { token, password }) => verifyEmail(base, parse(VerifyEmailInput, { token, password })),
  },
}

const template = engine.parse(`<p>{{ text }}</p>
{%- if problem %}
<div class="problems" role="alert" tabindex="-1" autofocus><p>{{ problem }}</p></div>
{%- endif %}
<form method="post">
{%- if hasName %}
<div class="field">
<label for="name">Your name <span class="optional">(optional)</span></label>
<input id="name" name="name" value="{{ name }}" autocomplete="name">
</div>
{%- endif %}
<div class="field">
<label for="password">Password</label>
<input type="password" id="password" name="password" required autocomplete="{{ password }}"{% if problem %} aria-invalid="true"{% endif %}>
</div>
<button>{{ button }}</button>
</form>`)

/**
 * The pages behind the links in invite, password reset and verification emails. GET changes nothing; the form posts to
 * the URL of the page.
 */
export const accountPages: FastifyPluginAsyncZod = async (app) => {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: 65_536 },
    async (_: unknown, raw: Buffer) => parsePostedForm(raw),
  )
  app.setErrorHandler((error, request, reply) => {
    if (toErrorBody(error)?.statusCode !== 400 || !acceptsHtml(request)) throw error
    return sendMessage(reply.code(400), invalidLinkMessage)
  })
  for (const [path, page] of Object.entries(pages)) {
    const schema = {
      tags: ['Authentication'],
      querystring: TokenQuery,
      response: { 200: pageResponse, 400: errorPageResponse },
    }
    app.get(
      path,
      {
        schema: {
          ...schema,
          operationId: `pages.show${page.name}`,
          summary: `Show the page "${page.heading}"`,
          description: 'The page that the link in an email opens. It changes nothing: its form sends the POST.',
        },
      },
      async (_request, reply) => sendPage(reply, page),
    )
    app.post(
      path,
      {
        config: page.limit ? { rateLimit: page.limit } : {},
        schema: {
          ...schema,
          operationId: `pages.submit${page.name}`,
          summary: `Submit the page "${page.heading}"`,
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
  try {
    await page.submit(baseCtx, { ...body, token: query.token })
  } catch (error) {
    const refused = error instanceof AppError ? toErrorBody(error) : undefined
    if (!refused) throw error
    if (refused.message === invalidToken().message) return sendMessage(reply.code(400), invalidLinkMessage)
    return sendPage(reply.code(refused.statusCode), page, { problem: toSentence(refused), name: body?.['name'] })
  }
  return sendMessage(reply, page.done)
}

const invalidLinkMessage = {
  title: 'This link does not work',
  text: 'It may be incomplete, expired or already used. Please request a new link.',
}

const fieldNames: Record<string, string> = { name: 'Your name', password: 'The password' }

/** Turns an error into a sentence for the page, with the field name that the page shows. */
function toSentence({ statusCode, message, issues: [issue] = [] }: ErrorBody): string {
  if (statusCode === 429) return 'Too many failed attempts. Please wait a few minutes and try again.'
  const problem = (issue?.message ?? message).replace(/^\w+: /, '')
  const subject = issue && fieldNames[issue.path]
  return `${subject ? `${subject} ` : ''}${problem}.`
}

function sendPage(reply: FastifyReply, page: Page, filled: { problem?: string; name?: string | undefined } = {}) {
  const content = String(engine.renderSync(template, { ...page, ...filled }))
  return sendDocument(reply, { heading: page.heading, content })
}

function parse<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.output<Schema> {
  const result = schema.safeParse(fields)
  if (result.success) return result.data
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  throw new AppError('validation_error', 'Invalid request', { issues })
}
