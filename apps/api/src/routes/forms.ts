import { lockForm, updateForm, createForm, deleteForm, listForms, readForm } from '@rapport/core/forms/forms.ts'
import { Form, FormChange, FormInput, FormQuery } from '@rapport/core/forms/forms.schema.ts'
import { Submission, SubmissionQuery } from '@rapport/core/forms/submissions.schema.ts'
import { lockSubmission, deleteSubmission, listSubmissions, readSubmission } from '@rapport/core/forms/submissions.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { type CurrentRecord, ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import type { PublicFormCache } from '../http/public-form-cache.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Forms'], security: [{ bearer: [] }] }
const params = IdParams('frm')
const submissionParams = params.extend({ submissionId: Id('sub') })
const currentForm = recordById(Form, { lock: lockForm, read: readForm })
const currentSubmission: CurrentRecord<{ ctx: Ctx; params: z.output<typeof submissionParams> }> = {
  schema: Submission,
  async lockAndRead({ ctx, params: { id, submissionId } }) {
    await lockSubmission(ctx, submissionId)
    return readSubmission(ctx, { formId: id, submissionId })
  },
}

/** The routes of forms and their submissions. */
export function formRoutes(publicForms: PublicFormCache): FastifyPluginAsyncZod {
  return async (app) => {
    app.post(
      '/forms',
      {
        schema: {
          ...common,
          operationId: 'forms.create',
          summary: 'Create a form',
          description: 'A field without `id` gets one that is derived from its label.',
          body: FormInput,
          response: { 201: Form },
        },
      },
      idempotent(async (request, reply) => {
        const form = await createForm(request.ctx, request.body)
        reply.code(201).header('location', `/forms/${form.id}`)
        return form
      }),
    )

    app.get(
      '/forms',
      {
        schema: {
          ...common,
          operationId: 'forms.list',
          summary: 'List forms',
          description: 'Returns the forms of the workspace.',
          querystring: FormQuery,
          response: { 200: PageOf(Form) },
        },
      },
      (request) => listForms(request.ctx, request.query),
    )

    app.get(
      '/forms/:id',
      {
        config: { etag: true },
        schema: {
          ...common,
          operationId: 'forms.get',
          summary: 'Retrieve a form',
          description: 'Returns the form with its fields.',
          params,
          response: { 200: Form },
        },
      },
      (request) => readForm(request.ctx, request.params.id),
    )

    app.patch(
      '/forms/:id',
      {
        schema: {
          ...common,
          operationId: 'forms.update',
          summary: 'Update a form',
          description: '`fields` replaces all fields. Existing submissions are not changed.',
          params,
          body: FormChange,
          response: { 200: Form },
        },
      },
      ifMatch(currentForm, async (request) => {
        const form = await updateForm(request.ctx, request.params.id, request.body)
        publicForms.drop(request.ctx, form.id)
        return form
      }),
    )

    app.delete(
      '/forms/:id',
      {
        schema: {
          ...common,
          operationId: 'forms.delete',
          summary: 'Delete a form',
          description: 'Deletes the form and its submissions. The contacts that it created are kept.',
          params,
          response: { 204: Empty },
        },
      },
      ifMatch(currentForm, async (request, reply) => {
        await deleteForm(request.ctx, request.params.id)
        publicForms.drop(request.ctx, request.params.id)
        reply.code(204)
        return null
      }),
    )

    app.get(
      '/forms/:id/submissions',
      {
        schema: {
          ...common,
          operationId: 'forms.listSubmissions',
          summary: 'List the submissions of a form',
          description: 'Returns the submissions of the form, newest first.',
          params,
          querystring: SubmissionQuery,
          response: { 200: PageOf(Submission) },
        },
      },
      (request) => listSubmissions(request.ctx, request.params.id, request.query),
    )

    app.get(
      '/forms/:id/submissions/:submissionId',
      {
        config: { etag: true },
        schema: {
          ...common,
          operationId: 'forms.getSubmission',
          summary: 'Retrieve a submission',
          description: 'Returns one submission with the exact wording of each consent.',
          params: submissionParams,
          response: { 200: Submission },
        },
      },
      ({ ctx, params: { id, submissionId } }) => readSubmission(ctx, { formId: id, submissionId }),
    )

    app.delete(
      '/forms/:id/submissions/:submissionId',
      {
        schema: {
          ...common,
          operationId: 'forms.deleteSubmission',
          summary: 'Delete a submission',
          description: 'Deletes the submission. Its contact is kept.',
          params: submissionParams,
          response: { 204: Empty },
        },
      },
      ifMatch(currentSubmission, async ({ ctx, params: { id, submissionId } }, reply) => {
        await deleteSubmission(ctx, { formId: id, submissionId })
        reply.code(204)
        return null
      }),
    )
  }
}
