import { InviteInput } from '@rapport/core/team/team.schema.ts'
import { createInvite } from '@rapport/core/team/invites.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

const { email, role } = InviteInput.shape

export const workspaceInvite = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    email: email.meta(option('<address>', 'Address that receives the invite')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER, ADMIN or OWNER')),
    json: jsonFlag('Prints the invite as JSON'),
  }),
  notes: [
    'Use it when an owner has lost the mailbox, so that "rapport user reset" does not help. Only the recipient of the',
    'email can accept the invite. A worker sends the email. The command connects to the database directly and is recorded',
    'in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, email, role, json }) {
    const invite = await withWorkspace(cli, workspace, (ctx) => createInvite(ctx, { email, role }))
    cli.terminal.print(json ? JSON.stringify(invite) : invite.id)
    cli.terminal.log(`The invite for ${invite.email} is queued and expires ${invite.expiresAt}.`)
    return exitCodes.success
  },
})
