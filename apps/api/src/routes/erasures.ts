import { createErasureReceipt } from '@rapport/core/operations/contacts/erasure-receipt.ts'
import { ErasureReceipt, ErasureReceiptInput } from '@rapport/core/operations/contacts/erasure-receipt.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { commitOnce, idempotentAfter } from '../http/handlers/idempotency.ts'
import { IdParams } from './shapes.ts'

const params = IdParams('con')
const description =
  'Searches all records of the workspace for a contact that was deleted: for its id, its UUID, and the addresses in ' +
  'the body, as text, in URLs, HTML, quoted-printable and base64. Returns each place in which something is left, with ' +
  'the reason. Returns 409 until the erasure is done, usually within a minute, and 503 if the search takes longer ' +
  'than ten seconds: `rapport erasure verify` has no such limit, and searches the installation too. Changes nothing.'

export const erasureRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/contacts/:id/erasure-receipt',
    {
      config: { role: 'ADMIN', worksWhenSuspended: true, errorStatuses: [409] },
      schema: {
        tags: ['Contacts'],
        security: [{ bearer: [] }],
        operationId: 'contacts.createErasureReceipt',
        summary: 'Create the receipt of an erasure',
        description,
        params,
        body: ErasureReceiptInput,
        response: { 200: ErasureReceipt },
      },
    },
    idempotentAfter(async (request, reply) => {
      const receipt = await createErasureReceipt(request.ctx, request.params.id, request.body)
      return commitOnce(request, reply, () => Promise.resolve(receipt))
    }),
  )
}
