import { previewTemplate } from '@rapport/core/emails/email-mail.ts'
import {
  checkNewTemplate,
  checkTemplateChange,
  deleteTemplate,
  listTemplates,
  lockTemplate,
  readTemplate,
  storeTemplate,
  storeTemplateChange,
} from '@rapport/core/emails/templates/templates.ts'
import {
  Template,
  TemplateChange,
  TemplateInput,
  TemplatePreview,
  TemplatePreviewInput,
  TemplateQuery,
  TemplateSummary,
} from '@rapport/core/emails/templates/templates.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { commitIfMatch, ifMatch, ifMatchAfter, recordById } from '../http/conditional-requests/if-match.ts'
import { commitOnce, idempotentAfter } from '../http/handlers/idempotency.ts'
import { Empty, IdParams, largeBodyLimit } from './shapes.ts'

const common = { tags: ['Emails'], security: [{ bearer: [] }] }
const params = IdParams('tpl')
/** The ground of a template is a legal statement. */
const config = { role: 'ADMIN' } as const
const currentTemplate = recordById(Template, { lock: lockTemplate, read: readTemplate })

export const templateRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/templates',
    {
      config,
      bodyLimit: largeBodyLimit,
      schema: {
        ...common,
        operationId: 'templates.create',
        summary: 'Create a template',
        description:
          'Creates a template for emails to one person each, with version 1. `subject`, `html` and `text` are Liquid templates over `data.*`, `contact.*` and `workspace.*`: a fault is a 400 with line and column. Is recorded in the audit log, because `ground` is a legal statement.',
        body: TemplateInput,
        response: { 201: Template },
      },
    },
    idempotentAfter(async (request, reply) => {
      await checkNewTemplate(request.ctx, request.body)
      return commitOnce(request, reply, async () => {
        const template = await storeTemplate(request.ctx, request.body)
        reply.code(201).header('location', `/templates/${template.id}`)
        return template
      })
    }),
  )

  app.get(
    '/templates',
    {
      schema: {
        ...common,
        operationId: 'templates.list',
        summary: 'List templates',
        description: 'Returns the templates of the workspace without `html` and `text`.',
        querystring: TemplateQuery,
        response: { 200: PageOf(TemplateSummary) },
      },
    },
    (request) => listTemplates(request.ctx, request.query),
  )

  app.get(
    '/templates/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'templates.get',
        summary: 'Retrieve a template',
        description: 'Returns the present version of the template.',
        params,
        response: { 200: Template },
      },
    },
    (request) => readTemplate(request.ctx, request.params.id),
  )

  app.patch(
    '/templates/:id',
    {
      config: { ...config, errorStatuses: [409] },
      bodyLimit: largeBodyLimit,
      schema: {
        ...common,
        operationId: 'templates.update',
        summary: 'Update a template',
        description:
          'Another content is a new version. Emails that wait are sent with the version that accepted them. `status` pauses the template, or activates it again, which returns 409 if the domain of its sender is not verified. Returns 409 if another request has changed the template meanwhile.',
        params,
        body: TemplateChange,
        response: { 200: Template },
      },
    },
    ifMatchAfter(currentTemplate, async (request, reply) => {
      const checked = await checkTemplateChange(request.ctx, request.params.id, request.body)
      const work = () => storeTemplateChange(request.ctx, checked)
      return commitIfMatch(request, reply, { record: currentTemplate, work })
    }),
  )

  app.delete(
    '/templates/:id',
    {
      config: { ...config, errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'templates.delete',
        summary: 'Delete a template',
        description: 'Returns 409 while an email from the template is PENDING. Emails that were sent remain listed.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentTemplate, async (request, reply) => {
      await deleteTemplate(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.post(
    '/templates/:id/preview',
    {
      config: { worksWhenSuspended: true },
      schema: {
        ...common,
        operationId: 'templates.preview',
        summary: 'Preview a template',
        description:
          'Renders the template for a contact and values, or for an example contact and the examples of its variables, with the footer. Sends nothing.',
        params,
        body: TemplatePreviewInput,
        response: { 200: TemplatePreview },
      },
    },
    idempotentAfter(async (request, reply) => {
      const preview = await previewTemplate(request.ctx, request.params.id, request.body)
      return commitOnce(request, reply, () => Promise.resolve(preview))
    }),
  )
}
