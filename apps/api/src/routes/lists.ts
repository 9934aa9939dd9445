import { canonicalLocale } from '@rapport/core/kernel/values/locale.ts'
import { lockContact } from '@rapport/core/contacts/lock-contact.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { countSubscribers } from '@rapport/core/lists/count-subscribers.ts'
import { deleteList } from '@rapport/core/lists/delete-list.ts'
import { lockListForUpdate, updateList, createList, listLists, readList } from '@rapport/core/lists/lists.ts'
import {
  List,
  ListChange,
  ListInput,
  ListQuery,
  ListRecord,
  SubscribeInput,
  SubscriberCounts,
  SubscriberInput,
  SubscriberQuery,
} from '@rapport/core/lists/lists.schema.ts'
import { addSubscriber, listSubscribers, readSubscriber, removeSubscriber } from '@rapport/core/lists/subscribers.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { Subscription } from '@rapport/core/consent/subscriptions.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PageQuery } from '../pages/page-language.ts'
import { type CurrentRecord, ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { type ConstantTime, roundUpDuration } from '../http/constant-time.ts'
import { Empty, IdParams } from './shapes.ts'

const SubscribeResult = z
  .object({ success: z.literal(true).describe('Always `true`.') })
  .meta({ id: 'SubscribeResult', description: 'The request was accepted.', examples: [{ success: true }] })

const common = { tags: ['Lists'], security: [{ bearer: [] }] }
const params = IdParams('lst')
const subscriberParams = params.extend({ contactId: Id('con') })
/** Every change of a subscription locks its contact first. */
const currentSubscription: CurrentRecord<{ ctx: Ctx; params: z.output<typeof subscriberParams> }> = {
  schema: Subscription,
  async lockAndRead({ ctx, params: { id, contactId } }) {
    await lockContact(ctx, contactId)
    return readSubscriber(ctx, id, contactId)
  },
}
const currentList = recordById(ListRecord, { lock: lockListForUpdate, read: readList })

const addSubscriberDescription =
  'CONFIRMED is your word that the contact has consented: single opt-in is built with it, by a call from your own ' +
  'back end. With PENDING, sends a confirmation email within the limits of `POST /public/lists/{id}/subscribe`; ' +
  'beyond them, the response is the same. Returns 200 if the contact is PENDING or CONFIRMED; a confirmed ' +
  'subscription stays confirmed. Returns 409 with the code `opted_out` if the contact has opted out: then only the ' +
  'contact can subscribe again. A contact that you removed from the list can be subscribed again.'

export const listRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/lists',
    {
      schema: {
        ...common,
        operationId: 'lists.create',
        summary: 'Create a list',
        description: 'A new list has no subscribers.',
        body: ListInput,
        response: { 201: ListRecord },
      },
    },
    idempotent(async (request, reply) => {
      const list = await createList(request.ctx, request.body)
      reply.code(201).header('location', `/lists/${list.id}`)
      return list
    }),
  )

  app.get(
    '/lists',
    {
      schema: {
        ...common,
        operationId: 'lists.list',
        summary: 'List lists',
        description: 'Returns the lists of the workspace with their number of confirmed subscribers.',
        querystring: ListQuery,
        response: { 200: PageOf(List) },
      },
    },
    (request) => listLists(request.ctx, request.query),
  )

  app.get(
    '/lists/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'lists.get',
        summary: 'Retrieve a list',
        description: 'Returns the list with its number of confirmed subscribers, and of confirmation emails that wait.',
        params,
        response: { 200: ListRecord },
      },
    },
    (request) => readList(request.ctx, request.params.id),
  )

  app.patch(
    '/lists/:id',
    {
      schema: {
        ...common,
        operationId: 'lists.update',
        summary: 'Update a list',
        description: 'A change of `doubleOptIn` or `publicSignup` affects new subscribers only.',
        params,
        body: ListChange,
        response: { 200: ListRecord },
      },
    },
    ifMatch(currentList, (request) => updateList(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/lists/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'lists.delete',
        summary: 'Delete a list',
        description:
          'Deletes the list and its subscriptions. Emits `list.deleted`, but no events of the subscriptions. The `emailSubscribedStatus` of the subscribers follows within seconds, and within minutes for a million of them. Returns 409 while a campaign to the list is SENDING or PAUSED.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentList, async (request, reply) => {
      await deleteList(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/lists/:id/counts',
    {
      schema: {
        ...common,
        operationId: 'lists.countSubscribers',
        summary: 'Count the subscribers of a list',
        description: 'Returns the exact number of subscriptions in each status, such as after an import.',
        params,
        response: { 200: SubscriberCounts },
      },
    },
    (request) => countSubscribers(request.ctx, request.params.id),
  )

  app.get(
    '/lists/:id/subscribers',
    {
      schema: {
        ...common,
        operationId: 'lists.listSubscribers',
        summary: 'List the subscribers of a list',
        description: 'Returns the subscriptions to the list, in any status unless `status` is given.',
        params,
        querystring: SubscriberQuery,
        response: { 200: PageOf(Subscription) },
      },
    },
    (request) => listSubscribers(request.ctx, request.params.id, request.query),
  )

  app.post(
    '/lists/:id/subscribers',
    {
      schema: {
        ...common,
        operationId: 'lists.addSubscriber',
        summary: 'Subscribe a contact',
        description: addSubscriberDescription,
        params,
        body: SubscriberInput,
        response: { 200: Subscription, 201: Subscription },
      },
    },
    idempotent(async (request, reply) => {
      const { subscription, isNew } = await addSubscriber(request.ctx, request.params.id, request.body)
      reply.code(isNew ? 201 : 200)
      if (isNew) reply.header('location', `/lists/${subscription.listId}/subscribers/${subscription.contactId}`)
      return subscription
    }),
  )

  app.get(
    '/lists/:id/subscribers/:contactId',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'lists.getSubscriber',
        summary: 'Retrieve a subscription',
        description: 'Returns 404 if the contact never had a subscription to the list.',
        params: subscriberParams,
        response: { 200: Subscription },
      },
    },
    (request) => readSubscriber(request.ctx, request.params.id, request.params.contactId),
  )

  app.delete(
    '/lists/:id/subscribers/:contactId',
    {
      schema: {
        ...common,
        operationId: 'lists.removeSubscriber',
        summary: 'Remove a contact from a list',
        description:
          'The subscription is kept with the status UNSUBSCRIBED and emits `subscription.unsubscribed`. This is not an opt-out: the contact can be subscribed again.',
        params: subscriberParams,
        response: { 204: Empty },
      },
    },
    ifMatch(currentSubscription, async (request, reply) => {
      await removeSubscriber(request.ctx, request.params.id, request.params.contactId)
      reply.code(204)
      return null
    }),
  )
}

const subscribeDescription =
  'Sends a confirmation email, also if the list has no double opt-in: a request without a credential never ' +
  'confirms. Returns 404 for a list whose `publicSignup` is CLOSED. By default, an address receives at most one ' +
  'confirmation email in 10 minutes and three a day for each list, and five a day over all lists of the workspace; ' +
  'all forms of the address (upper case, `+tag`) count together. Beyond these limits, and while the operator ' +
  'requires a verified email address that no owner has, no email is sent. The response is the same in all these ' +
  'cases, and for unknown, known, pending and confirmed addresses. A contact without a locale gets the language of ' +
  'the visitor, and so does the email.'

/** The public route for newsletter forms on any site. It requires no credential. */
export const publicListRoutes: FastifyPluginAsyncZod<ConstantTime> = async (app, timings) => {
  app.post(
    '/public/lists/:id/subscribe',
    {
      config: { rateLimit: { max: 20 }, errorStatuses: [403, 409] },
      bodyLimit: 65_536,
      schema: {
        tags: ['Lists'],
        operationId: 'public.subscribe',
        summary: 'Subscribe to a list',
        description: subscribeDescription,
        params,
        querystring: PageQuery,
        body: SubscribeInput,
        response: { 202: SubscribeResult },
      },
    },
    async (request, reply) => {
      const input = { ...request.body, locale: canonicalLocale(request.query.lang ?? '') }
      await roundUpDuration(timings, () => subscribe(request.baseCtx, request.params.id, input))
      reply.code(202)
      return { success: true as const }
    },
  )
}
