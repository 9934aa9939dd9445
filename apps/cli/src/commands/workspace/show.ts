import { readWorkspaceOverview, type WorkspaceOverview } from '@rapport/core/operations/overviews/workspace-overview.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'
import { formatCount, formatTable, type Terminal } from '../../terminal.ts'
import { formatFailingWebhooks } from '../webhook-failing.ts'

export const workspaceShow = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    json: jsonFlag('Prints the workspace with all of this as JSON'),
  }),
  notes: [
    'A use with "~" is an estimate, and one of "–" is not counted: the limit applies to each process, address or import.',
    'A limit of "–" is none.',
    'The command connects to the database directly. "rapport workspace list" lists the ids.',
  ].join('\n'),
  async run(cli, { workspace, json }) {
    const overview = await withWorkspace(cli, workspace, readWorkspaceOverview)
    cli.terminal.print(json ? JSON.stringify(overview) : format(overview, cli.terminal))
    return exitCodes.success
  },
})

function format(overview: WorkspaceOverview, terminal: Terminal): string {
  const { workspace, members, invites, senderDomains, domains, usage, counts, failingWebhooks } = overview
  const campaigns = Object.entries(counts.campaigns).map(([status, count]) => `${formatCount(count)} ${status}`)
  const facts = [
    ['Id', workspace.id],
    ['Created', workspace.createdAt],
    ['Suspended', workspace.suspendedAt ?? 'no'],
    ['Sender domains', senderDomains.join(', ') || 'none given by the operator'],
    ['No consent', describeTracking[workspace.trackingWithoutConsent]],
    ['Deals', formatCount(counts.deals)],
    ['Tasks', formatCount(counts.tasks)],
    ['Campaigns', campaigns.join(', ') || '0'],
  ] as const
  const quotas = Object.entries(usage).map(([name, { used, isEstimate, limit }]) => [
    name,
    used === null ? '–' : `${formatCount(used)}${isEstimate ? ' ~' : ''}`,
    limit === null ? '–' : formatCount(limit),
  ])
  return [
    terminal.style('bold', workspace.name),
    ...facts.map(([label, value]) => `${label.padEnd(14)}  ${value}`),
    '',
    formatTable([
      ['member', 'role', 'since', 'id'],
      ...members.map((one) => [one.email, one.role, one.createdAt, one.id]),
    ]),
    '',
    ...(invites.length > 0 ? [formatInvites(invites), ''] : []),
    ...(domains.length > 0 ? [formatDomains(domains), ''] : []),
    formatTable([['quota', 'used', 'limit'], ...quotas]),
    '',
    formatFailingWebhooks(failingWebhooks),
  ].join('\n')
}

const formatInvites = (invites: WorkspaceOverview['invites']) =>
  formatTable([
    ['invited', 'role', 'until', 'id'],
    ...invites.map((one) => [one.email, one.role, one.expiresAt, one.id]),
  ])

const formatDomains = (domains: WorkspaceOverview['domains']) =>
  formatTable([
    ['domain', 'status', 'host', 'host record'],
    ...domains.map(({ name, status, host, records }) => {
      const record = records.find(({ purpose }) => purpose === 'HOST')
      return [name, status, host ?? '–', record?.status ?? '–']
    }),
  ])

const describeTracking = {
  OFF: 'OFF: opens and clicks are not tracked',
  ANONYMOUS: 'ANONYMOUS: opens and clicks are counted without the contact',
  PERSON: 'PERSON: opens and clicks are recorded of each contact',
}
