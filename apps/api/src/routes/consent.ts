import { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { lockContact } from '@rapport/core/contacts/lock-contact.ts'
import { readContact } from '@rapport/core/contacts/read-contact.ts'
import { readTrackingConsent, setTrackingConsent } from '@rapport/core/operations/contacts/tracking-consent.ts'
import { optOutContact, undoOptOut } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { OptOutInput, OptOutQuery } from '@rapport/core/consent/subscriptions.schema.ts'
import { TrackingConsent, TrackingConsentInput } from '@rapport/core/consent/tracking/tracking-consent.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { IdParams } from './shapes.ts'

const common = { tags: ['Contacts'], security: [{ bearer: [] }] }
const params = IdParams('con')
const currentContact = recordById(Contact, { lock: lockContact, read: readContact })
const currentConsent = recordById(TrackingConsent, { lock: lockContact, read: readTrackingConsent })

const optOutDescription =
  'Records what the person said by telephone or letter. It is as good as their own unsubscribing: only they revert ' +
  'it. With `listId` they leave this list, otherwise every list, also those to come. Emits ' +
  '`subscription.unsubscribed` for each list. The proof of consent keeps it as `OPERATOR`, with the user or API key ' +
  'and the note, and the audit log records it. Once more is no error: the audit log has it each time, the proof ' +
  'once. An admin can undo a mistake for ten minutes.'

const undoOptOutDescription =
  'For ten minutes after `POST /contacts/{id}/opt-out` with the same `listId`: the subscriptions that it ended open ' +
  'again. Returns 409 with the code `opted_out` after that, if the person has said the same, or if a change of ' +
  'address or a merge has made it hold for two addresses: then only they revert it. The audit log records it.'

const setTrackingConsentDescription =
  'Records what the person said by telephone or letter. It counts at once, also for emails that were sent before: ' +
  'their pixels and links still work, and record nothing of the contact. The proof keeps it as `OPERATOR`, with the ' +
  'user or API key and the note, and the audit log records it. `GRANTED` is refused with 409 and the code ' +
  '`consent_required`: only the person can grant, by a form field with the purpose `TRACKING` or on their ' +
  'preferences page. Once more is a no-op. Emits `tracking_consent.changed`.'

/** What a person said to the operator about their emails: an opt-out, a denial of tracking. */
export const consentRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/contacts/:id/opt-out',
    {
      schema: {
        ...common,
        operationId: 'contacts.optOut',
        summary: 'Record an opt-out',
        description: optOutDescription,
        params,
        body: OptOutInput,
        response: { 200: Contact },
      },
    },
    idempotent((request) => optOutContact(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/contacts/:id/opt-out',
    {
      config: { role: 'ADMIN', errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'contacts.undoOptOut',
        summary: 'Undo an opt-out that was recorded by mistake',
        description: undoOptOutDescription,
        params,
        querystring: OptOutQuery,
        response: { 200: Contact },
      },
    },
    ifMatch(currentContact, (request) => undoOptOut(request.ctx, request.params.id, request.query)),
  )

  app.get(
    '/contacts/:id/tracking-consent',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'contacts.getTrackingConsent',
        summary: 'Retrieve what a contact chose about tracking',
        description:
          'Returns whether opens and clicks of the contact may be recorded. The export of the contact contains the proofs.',
        params,
        response: { 200: TrackingConsent },
      },
    },
    (request) => readTrackingConsent(request.ctx, request.params.id),
  )

  app.put(
    '/contacts/:id/tracking-consent',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'contacts.setTrackingConsent',
        summary: 'Record that a contact denies tracking',
        description: setTrackingConsentDescription,
        params,
        body: TrackingConsentInput,
        response: { 200: TrackingConsent },
      },
    },
    ifMatch(currentConsent, (request) => setTrackingConsent(request.ctx, request.params.id, request.body)),
  )
}
