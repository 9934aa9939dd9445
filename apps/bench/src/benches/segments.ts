import type { Filter } from '@rapport/core/segments/filter.schema.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { createCampaign, createList, type Sender, send } from '../campaigns.ts'
import { call, type Installation, withInstallation } from '../installation.ts'
import { type Bench, type Figure, measureRounds, timed } from '../measurements.ts'

/** Runs without a worker. */
export const segments: Bench = {
  about: 'Segments of a million contacts: first page, count, and `send`; baseline: without a filter',
  measure: (options) =>
    withInstallation(async (installation) => {
      const { client } = installation
      await installation.startRedis()
      const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
      const { api, workspace } = sender
      const people = options.quick ? 10_000 : 1_000_000
      options.log(`inserting ${people.toLocaleString('en')} contacts`)
      const listId = await createList(installation, sender, { name: 'million', count: people })
      const filters = filtersOf(listId, await fill(installation, sender, listId))
      const repeat = options.quick ? 1 : 3
      const timeOf = (request: [string, object?]) => async () => {
        const ms = await timed(async () => {
          for (let n = 0; n < repeat; n += 1) await call(api, workspace.key, request)
        })
        return ms / repeat
      }
      const figures: Figure[] = []
      for (const [name, filter] of filters) {
        const query = `filter=${encodeURIComponent(JSON.stringify(filter))}`
        const times = await measureRounds(options, {
          page: timeOf([`GET /contacts?${query}`]),
          count: timeOf([`GET /contacts?count=true&${query}`]),
          plain: timeOf(['GET /contacts?sort=-createdAt&createdAfter=2000-01-01']),
        })
        figures.push(
          {
            ...figureOf(`${name}: first page`, times.page),
            baseline: { name: 'without a filter', values: times.plain },
            ...(!rare.has(name) && { target: { atMost: 10 } }),
          },
          {
            ...figureOf(`${name}: page and count`, times.count),
            baseline: { name: 'without a filter', values: times.plain },
            ...(!rare.has(name) && { target: { atMost: 30 } }),
          },
        )
      }
      const sendTo = async (segmentId: string | null) => {
        const id = await createCampaign(sender, listId)
        if (segmentId) await call(api, workspace.key, [`PATCH /campaigns/${id}`, { segmentId }])
        await client.query('checkpoint')
        const ms = await timed(() => send(sender, id))
        await call(api, workspace.key, [`POST /campaigns/${id}/cancel`])
        await client.query('delete from campaign_batches')
        await client.query('delete from work')
        return ms
      }
      for (const [name, filter] of filters.filter(([name]) => sent.has(name))) {
        const segment = await call<{ id: string }>(api, workspace.key, ['POST /segments', { name, filter }])
        const times = await measureRounds(options, { segment: () => sendTo(segment.id), list: () => sendTo(null) })
        figures.push({
          ...figureOf(`${name}: send`, times.segment),
          baseline: { name: 'to the whole list', values: times.list },
          target: { atMost: 3 },
        })
      }
      return figures
    }),
}

const figureOf = (name: string, values: number[]) => ({ name, unit: 'ms', values })

/**
 * Gives the contacts varied properties, two campaigns with what each contact did, and a tenth of the contacts deals.
 * Returns the ids of a campaign and a pipeline.
 */
async function fill({ client }: Installation, { api, workspace }: Sender, listId: string) {
  const { key, ctx } = workspace
  const id = uuidOf(ctx.workspaceId)
  const fields = [
    { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro', 'team'] },
    { key: 'seats', label: 'Seats', type: 'NUMBER' },
    { key: 'renewal', label: 'Renewal', type: 'DATE' },
    { key: 'city', label: 'City', type: 'TEXT' },
  ]
  for (const field of fields) await call(api, key, ['POST /custom-fields', field])
  await client.query(
    `with numbered as (select id, row_number() over (order by id) as n from contacts where workspace_id = $1)
     update contacts c set
       company = 'Company ' || n % 5000,
       tags = case when n % 100 = 0 then array['vip', 'all'] when n % 3 = 0 then array['customer', 'all'] else array['all'] end,
       custom_field_values = jsonb_build_object('plan', (array['free', 'pro', 'team'])[1 + n % 3], 'seats', n % 200,
         'renewal', to_char(now() - (n % 700) * interval '1 day', 'YYYY-MM-DD'), 'city', 'City ' || n % 100),
       last_activity_at = case when n % 4 > 0 then now() - (n % 365) * interval '1 day' end,
       created_at = now() - n * interval '1 second'
     from numbered where c.workspace_id = $1 and c.id = numbered.id`,
    [id],
  )
  const campaigns = [await createCampaign({ api, workspace }, listId), await createCampaign({ api, workspace }, listId)]
  for (const campaign of campaigns) {
    await client.query(
      `with numbered as (select id, row_number() over (order by id) as n from contacts where workspace_id = $1)
       insert into campaign_recipients
         (workspace_id, campaign_id, contact_id, batch_id, status, opens_tracked, clicks_tracked, ended_at, opened_at,
          clicked_at)
       select $1, $2, id, uuidv7(), 'SENT', true, true, now() - (n % 60) * interval '1 day',
         case when n % 3 = 0 then now() - (n % 60) * interval '1 day' end, case when n % 20 = 0 then now() end
       from numbered`,
      [id, uuidOf(Id('cmp').parse(campaign))],
    )
  }
  const [pipeline] = (await call<{ data: { id: string; stages: { id: string }[] }[] }>(api, key, ['GET /pipelines']))
    .data
  await client.query(
    `with numbered as (select id, row_number() over (order by id) as n from contacts where workspace_id = $1)
     insert into deals (workspace_id, id, pipeline_id, stage_id, contact_id, value_cents, status, closed_at)
     select $1, uuidv7(), $2, $3, id, n * 7919 % 1000003 * 100, case when n % 20 = 0 then 'WON' else 'OPEN' end,
       case when n % 20 = 0 then now() end
     from numbered where n % 10 = 0`,
    [id, uuidOf(Id('pip').parse(pipeline?.id)), uuidOf(Id('stg').parse(pipeline?.stages[0]?.id))],
  )
  await client.query('vacuum analyze')
  return { campaign: campaigns[0] ?? '', pipeline: pipeline?.id ?? '' }
}

/** Fewer than one percent match: without an index, all contacts are read. */
const rare = new Set(['company (0.02 %)', 'phone (0 %)'])
/** The filters that `send` is measured with. */
const sent = new Set(['pro (33 %)', 'pro, no open for a month', 'ten leaves'])

function filtersOf(list: string, { campaign, pipeline }: { campaign: string; pipeline: string }): [string, Filter][] {
  const field = (name: string, operators: object) => ({ field: name, ...operators }) as Filter
  const custom = (key: string, operators: object) => field(`customFieldValues.${key}`, operators)
  const ids = { list: Id('lst').parse(list), campaign: Id('cmp').parse(campaign), pipeline: Id('pip').parse(pipeline) }
  const pro = custom('plan', { eq: 'pro' })
  const noOpen: Filter = { not: { campaign: 'any', did: 'open', within: '30d' } }
  const cities = (count: number): Filter[] =>
    Array.from({ length: count }, (_, n) => custom('city', n % 2 ? { eq: `City ${n}` } : { contains: `ity ${n}` }))
  return [
    ['pro (33 %)', pro],
    ['not pro', { not: pro }],
    ['seats (50 %)', custom('seats', { gte: 100 })],
    ['seats (1 %)', custom('seats', { gte: 100, lt: 102 })],
    ['renewal within 30 days (4 %)', custom('renewal', { within: '30d' })],
    ['city contains (1 %)', custom('city', { contains: 'ITY 77' })],
    ['company (0.02 %)', field('company', { eq: 'Company 77' })],
    ['company starts with (22 %)', field('company', { startsWith: 'company 1' })],
    ['no activity for 90 days', field('lastActivityAt', { notWithin: '90d' })],
    ['phone (0 %)', field('phone', { isSet: true })],
    ['vip (1 %)', { tags: { has: 'vip' } }],
    ['vip or customer', { tags: { hasAny: ['vip', 'customer'] } }],
    ['on the list', { list: ids.list, status: 'CONFIRMED' }],
    ['opened a campaign (33 %)', { campaign: ids.campaign, did: 'open' }],
    ['clicked any (5 %)', { campaign: 'any', did: 'click', within: '7d' }],
    ['open deal (5 %)', { deal: { status: 'OPEN', pipelineId: ids.pipeline } }],
    ['deal of much value (1 %)', { deal: { valueCents: { gte: 90_000_000 } } }],
    ['pro, no open for a month', { all: [pro, noOpen] }],
    ['ten leaves', { all: [{ any: [pro, { tags: { has: 'vip' } }] }, noOpen, { any: cities(6) }, { list: ids.list }] }],
    ['thirty leaves', { any: [{ all: [pro, noOpen, { list: ids.list }] }, ...cities(27)] }],
  ]
}
