import { randomUUID } from 'node:crypto'
import { parsePostedValues } from '@rapport/core/forms/form-values.ts'
import { findPublicForm, toPublicForm } from '@rapport/core/forms/forms.ts'
import { submitForm } from '@rapport/core/forms/submissions.ts'
import { findBranding } from '@rapport/core/workspaces/branding.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type PublicErrorCode, startErrorResponse, toErrorBody } from '../http/error-handler.ts'
import { IdParams } from '../routes/shapes.ts'
import { type ConstantTime, roundUpDuration } from '../http/constant-time.ts'
import { pageResponse, errorPageResponse, acceptsHtml } from './document.ts'
import { type FormProblem, sendFormPage } from './form-page.ts'
import { sendMessage, suspendedMessage } from './message-page.ts'
import { acceptPostedForms } from './posted-form.ts'
import { PageQuery, readPageLanguage } from './page-language.ts'

const params = IdParams('frm')
const PostedForm = z.record(z.string(), z.string()).describe('The values by field id, as a browser posts them.')
const page = { 200: pageResponse, 404: errorPageResponse }
const schema = { tags: ['Hosted pages'], params, querystring: PageQuery }

/** Hidden inputs that the page adds to the fields. The id of a field cannot start with an underscore. */
const versionName = '_version'
const keyName = '_key'

/** The hosted form: a page that works without JavaScript, and that any site may embed in a frame. */
export const formPages: FastifyPluginAsyncZod<ConstantTime> = async (app, timings) => {
  acceptPostedForms(app)
  app.setErrorHandler((error, request, reply) => {
    const body = acceptsHtml(request) ? toErrorBody(error) : undefined
    const language = readPageLanguage(request)
    if (body?.code === 'workspace_suspended')
      return sendMessage(reply.code(403), { ...suspendedMessage(language), frameAncestors: '*' })
    if (body?.statusCode !== 404) throw error
    return sendMessage(reply.code(404), { language, ...language.texts.form.unavailable, frameAncestors: '*' })
  })

  app.get(
    '/f/:id',
    {
      schema: {
        ...schema,
        operationId: 'pages.showForm',
        summary: 'Show a hosted form',
        description: 'A page with the form. It works without JavaScript, and any site may embed it in a frame.',
        response: page,
      },
    },
    async (request, reply) => {
      return sendFormPage(reply, { ...(await preparePage(request)), key: randomUUID() })
    },
  )

  app.post(
    '/f/:id',
    {
      config: { rateLimit: { max: 20 } },
      schema: {
        ...schema,
        operationId: 'pages.submitForm',
        summary: 'Submit a hosted form',
        description:
          'Redirects to the thank-you page, or shows the form again: with an error for each invalid field, or because it has changed or could not be submitted.',
        consumes: ['application/x-www-form-urlencoded'],
        body: PostedForm,
        response: {
          303: z.null(),
          400: errorPageResponse,
          403: errorPageResponse,
          404: errorPageResponse,
          409: errorPageResponse,
          412: errorPageResponse,
          503: errorPageResponse,
        },
      },
    },
    async (request, reply) => {
      const prepared = await preparePage(request)
      return roundUpDuration(timings, () => submitPage(request, reply, prepared))
    },
  )

  app.get(
    '/f/:id/thanks',
    {
      schema: {
        ...schema,
        operationId: 'pages.showThanks',
        summary: 'Show the thank-you page of a hosted form',
        description: 'A page with the success message of the form. It redirects to `redirectUrl` if the form has one.',
        response: page,
      },
    },
    async (request, reply) => {
      const { form, ...page } = await preparePage(request)
      return sendMessage(reply, {
        ...page,
        title: form.name,
        text: form.successMessage,
        note: toPublicForm(form).asksByEmail ? page.language.texts.form.confirm : undefined,
        frameAncestors: '*',
        ...(form.redirectUrl !== null && { redirectUrl: new URL(form.redirectUrl).href }),
      })
    },
  )
}

type FormRequest = FastifyRequest<{ Params: z.output<typeof params> }>
type PostRequest = FastifyRequest<{ Body: z.output<typeof PostedForm> }>

/** The words of the form decide on the language of the page before the browser does. */
async function preparePage(request: FormRequest) {
  const form = await findPublicForm(request.baseCtx, request.params.id)
  const branding = await findBranding(request.baseCtx, form.workspaceId)
  const language = readPageLanguage(request, { content: form.locale, workspace: branding?.locale ?? null })
  return { form, branding, language }
}

/** The errors that show the form again, with what the visitor has filled in. */
const problems: Partial<Record<PublicErrorCode, FormProblem>> = {
  validation_error: 'invalid',
  precondition_failed: 'changed',
  quota_exceeded: 'failed',
  unavailable: 'failed',
}

type PreparedPage = Awaited<ReturnType<typeof preparePage>>

/** Redirects to the thank-you page, or shows the form again with the posted values and their errors. */
async function submitPage(request: PostRequest, reply: FastifyReply, page: PreparedPage): Promise<FastifyReply> {
  const { [versionName]: version, [keyName]: key = randomUUID(), ...texts } = request.body
  const { form, language } = page
  const values = parsePostedValues(form.fields, texts)
  try {
    await submitForm(request.baseCtx, form.id, {
      values,
      ...(language.isKnown && { locale: language.locale }),
      ...(version !== undefined && { versions: [version] }),
      repetitionKey: key,
    })
  } catch (error) {
    const { code, issues = [] } = toErrorBody(error) ?? {}
    const problem = code && problems[code]
    if (!problem) throw error
    startErrorResponse(error, request, reply)
    return sendFormPage(reply, { ...page, key, filled: { values: texts, issues, problem } })
  }
  // Relative, so that it also works behind a proxy that adds a path prefix. Not the form's `redirectUrl`, which may
  // redirect to any site: browsers check `form-action` at every step of a redirect.
  return reply.redirect(language.link(`./${form.id}/thanks`), 303)
}
