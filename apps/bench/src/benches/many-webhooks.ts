import type { Ctx } from '@rapport/core/request/context.ts'
import { createWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { drain, exampleContact } from '../deliveries.ts'
import { type Bench, measureRounds } from '../measurements.ts'
import { withInstallation } from '../installation.ts'
import { contactCreated } from '@rapport/core/contacts/contact-events.ts'

export const manyWebhooks: Bench = {
  about: 'Deliveries of a thousand workspaces with 20 webhooks each; baseline: one workspace with one webhook',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const receiver = await installation.startReceiver()
      const [workspaces, webhooks] = [options.quick ? 20 : 1_000, 20]
      const count = workspaces * webhooks
      const { ctx: one } = await installation.createWorkspace()
      await createWebhook(one, { url: receiver.url, eventTypes: ['*'] })
      options.log(`creating ${workspaces} workspaces with ${webhooks} webhooks each`)
      const many: Ctx[] = []
      for (let n = 0; n < workspaces; n += 1) {
        const ctx = { ...one, workspaceId: (await createWorkspace(one.db, `Workspace ${n}`)).id }
        const url = `${receiver.url}/${n}`
        for (let hook = 0; hook < webhooks; hook += 1) await createWebhook(ctx, { url, eventTypes: ['*'] })
        many.push(ctx)
      }

      const worker = await installation.startWorker()
      const drained = (fill: () => Promise<void>) => () =>
        drain(installation, receiver, { workers: [worker], fill, count })
      const rates = await measureRounds(options, {
        many: drained(async () => {
          for (const ctx of many) await emitMany(ctx, contactCreated, [exampleContact])
        }),
        one: drained(async () => {
          const records = Array.from({ length: workspaces }, () => exampleContact)
          for (let n = 0; n < webhooks; n += 1) await emitMany(one, contactCreated, records)
        }),
      })
      return [
        {
          name: `webhooks of ${workspaces.toLocaleString('en')} workspaces with ${webhooks} each, a backlog drained`,
          unit: 'deliveries/s',
          values: rates.many,
          baseline: { name: 'one workspace with one', values: rates.one },
          target: { atLeast: 0.7 },
        },
      ]
    }),
}
