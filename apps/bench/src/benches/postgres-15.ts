import { findPostgres15 } from '@rapport/testing/postgres/postgres-15.ts'
import { createCampaign, createList, send, startMailSink, waitForEnd } from '../campaigns.ts'
import { type Installation, withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { type Bench, type Figure, measureRounds, type Options } from '../measurements.ts'
import { createMeter } from '../metering.ts'

const creation: LoadRequest = {
  method: 'POST',
  path: '/contacts',
  body: { email: 'person{n}@example.com', firstName: 'Ada', lastName: 'Lovelace' },
}

export const postgres15: Bench = {
  about: 'POST /contacts and a campaign on PostgreSQL 15; baseline: the version from npm',
  async measure(options) {
    const binaries = await findPostgres15()
    if (!binaries) throw new Error('PostgreSQL 15 is neither installed nor in a package of this machine')
    return withInstallation((older) => withInstallation((newer) => compare({ older, newer }, options)), { binaries })
  },
}

async function compare(
  { older, newer }: { older: Installation; newer: Installation },
  options: Options,
): Promise<Figure[]> {
  const [on15, onNewest] = [await prepare(older, options), await prepare(newer, options)]
  const baseline = (values: number[]) => ({ name: 'PostgreSQL from npm', values })
  const rates = await measureRounds(options, { older: on15.createContacts, newer: onNewest.createContacts })
  const mails = await measureRounds(options, { older: on15.sendCampaign, newer: onNewest.sendCampaign })
  return [
    {
      name: 'POST /contacts, PostgreSQL 15',
      unit: 'requests/s',
      values: rates.older,
      baseline: baseline(rates.newer),
      target: { atLeast: 0.8 },
    },
    {
      name: 'campaign, PostgreSQL 15',
      unit: 'mails/s',
      values: mails.older,
      baseline: baseline(mails.newer),
      target: { atLeast: 0.8 },
    },
  ]
}

/** Starts the programs of an installation. Returns what is measured on it. */
async function prepare(installation: Installation, options: Options) {
  await installation.startRedis()
  await startMailSink(installation)
  const { key } = await installation.createWorkspace()
  const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
  const listId = await createList(installation, sender, { name: 'reader', count: options.quick ? 500 : 10_000 })
  await installation.startWorker()
  const meter = createMeter(installation.startLoadGenerator(), { forMs: options.quick ? 700 : 5_000, perSecond: 100 })
  return {
    createContacts: meter.rate('create', sender.api, { requests: [creation], key }),
    sendCampaign: async () => {
      const id = await createCampaign(sender, listId)
      await send(sender, id)
      return waitForEnd(sender, id)
    },
  }
}
