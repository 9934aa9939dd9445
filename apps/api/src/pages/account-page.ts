import { AppError } from '@rapport/core/kernel/errors.ts'
import type { Branding } from '@rapport/core/workspaces/branding.ts'
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import { type ErrorBody, toErrorBody } from '../http/error-handler.ts'
import { engine, sendDocument } from './document.ts'
import type { PageLanguage } from './page-language.ts'
import type { PageTexts } from './texts/en.ts'

/**
 * The hidden field has no `name`, so that it is not posted: with it, a password manager saves the password for the
 * right account.
 */
const template = engine.parse(`<p>{{ text }}</p>
{%- if problem %}
<div class="problems" role="alert" tabindex="-1" autofocus id="problem"><p>{{ problem }}</p></div>
{%- endif %}
<form method="post">
{%- if hasName %}
<div class="field">
<label for="name">{{ texts.name }} <span class="optional">{{ optional }}</span></label>
<input id="name" name="name" value="{{ name }}" autocomplete="name"{{ invalid.name | raw }}>
</div>
{%- endif %}
{%- if password %}
<div class="trap" aria-hidden="true"><input type="email" value="{{ email }}" autocomplete="username" readonly tabindex="-1"></div>
<div class="field">
<label for="password">{{ texts.password }}</label>
<input type="password" id="password" name="password" required autocomplete="{{ password }}"{{ invalid.password | raw }}>
</div>
{%- else %}
<div class="field">
<label for="email">{{ texts.email }}</label>
<input type="email" id="email" name="email" value="{{ email }}" required autocomplete="username"{{ invalid.email | raw }}>
</div>
{%- endif %}
<button>{{ button }}</button>
</form>
{%- if password == 'current-password' %}
<p><a href="{{ forgotPasswordUrl }}">{{ texts.forgotPassword.title }}</a></p>
{%- endif %}`)

export interface AccountPage {
  language: PageLanguage
  heading: string
  /** The title of the window. Default: the heading. */
  title?: string
  text: string
  button: string
  hasName?: boolean
  /** The address of the account; without `password`, the entered address. */
  email?: string
  /** The `autocomplete` token: whether the browser fills in the password or suggests a new one. */
  password?: 'new-password' | 'current-password'
  branding?: Branding | undefined
}

/** Why the input was rejected, in which field if it is about one, and what was entered besides the password. */
export interface RejectedInput {
  problem: string
  field?: 'name' | 'password' | 'email' | undefined
  name?: string | undefined
}

/** Sends a page that asks for a password, or for the address of an account. */
export function sendAccountPage(reply: FastifyReply, page: AccountPage, rejected?: RejectedInput): FastifyReply {
  const { language, heading, title = heading, branding } = page
  const { account: texts, form } = language.texts
  const invalid = rejected?.field && { [rejected.field]: ' aria-invalid="true" aria-describedby="problem"' }
  const shared = { texts, optional: form.optional, forgotPasswordUrl: language.link('forgot-password') }
  const content = String(engine.renderSync(template, { ...page, ...rejected, invalid, ...shared }))
  return sendDocument(reply, { language, heading, title, content, branding })
}

/** Parses the fields of a posted page. Throws `validation_error`. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.output<Schema> {
  const result = schema.safeParse(fields)
  if (result.success) return result.data
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  throw new AppError('validation_error', 'Invalid request', { issues })
}

interface Rejection {
  /** The texts of the page. */
  texts: PageTexts
  /** What the page says about a wrong password. */
  wrongPassword: string
  password: string | undefined
}

/** The sentence and the field for rejected input. Throws the error again if the link is broken, or if it is a defect. */
export function describeRejection(error: unknown, rejection: Rejection): RejectedInput {
  const body = toErrorBody(error)
  if (!body || body.code === 'invalid_token') throw error
  return { problem: toSentence(body, rejection), field: findField(body) }
}

function findField({ code, issues: [issue] = [] }: ErrorBody): RejectedInput['field'] {
  const path = issue?.path
  return path === 'name' || path === 'password' ? path : code === 'unauthorized' ? 'password' : undefined
}

function toSentence({ statusCode, code, issues: [issue] = [] }: ErrorBody, rejection: Rejection): string {
  const { problems } = rejection.texts.account
  if (statusCode === 429) return problems.tooManyAttempts
  if (code === 'unauthorized') return rejection.wrongPassword
  if (code === 'workspace_suspended') return rejection.texts.suspended.text
  if (issue?.path === 'name') return problems.name
  return issue?.path === 'password' ? describePassword(rejection) : problems.failed
}

function describePassword({ texts, password }: Rejection): string {
  const { problems } = texts.account
  if (!password) return problems.passwordMissing
  return password.length < 12 || password.length > 128 ? problems.passwordLength : problems.passwordUnsuitable
}
