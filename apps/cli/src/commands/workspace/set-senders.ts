import { listSharedDomains } from '@rapport/core/domains/senders.ts'
import { setSenderDomains } from '@rapport/core/domains/set-sender-domains.ts'
import { IdOption } from '../../id-option.ts'
import { normalizeEmail } from '@rapport/core/kernel/validation.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'

/** Converts an international domain to ASCII, as in a sender address. */
const Domain = z.string().transform((text, check) => {
  const email = normalizeEmail(`sender@${text.toLowerCase()}`)
  if (email !== undefined) return email.slice(email.indexOf('@') + 1)
  check.addIssue({ code: 'custom', message: `"${text}" is not a domain such as example.com` })
  return z.NEVER
})

const Domains = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .pipe(z.array(Domain))

export const workspaceSetSenders = defineCommand({
  positionals: ['workspace', 'domains'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    domains: Domains.meta(option('<domains>', 'Domains, separated by commas; "" removes all')),
    json: jsonFlag('Prints the domains as JSON'),
  }),
  notes: [
    'The workspace then sends only from these domains, from those that it has verified, and from MAIL_FROM where it names',
    'no sender. Workspaces without domains of their own can no longer send from them. Removes the domains that the',
    'workspace had before, and warns if another workspace has one of them too. The command connects to the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, domains, json }) {
    const shared = await withWorkspace(cli, workspace, async (ctx) => {
      await setSenderDomains(ctx, domains)
      return listSharedDomains(ctx, domains)
    })
    cli.terminal.print(json ? JSON.stringify({ workspaceId: workspace, domains, shared }) : domains.join('\n'))
    for (const { domain, workspaceId } of shared)
      cli.terminal.log(
        `Warning: ${workspaceId} has ${domain} too, and may send from it. To take it away, set its senders.`,
      )
    cli.terminal.log(
      domains.length > 0
        ? `${workspace} sends only from these domains, and from those that it has verified.`
        : `${workspace} sends from every domain that no other workspace has.`,
    )
    return exitCodes.success
  },
})
