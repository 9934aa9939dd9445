import { createWorkspaceAndInviteOwner } from '@rapport/core/team/create-workspace.ts'
import { CreateWorkspaceInput, type Invite } from '@rapport/core/team/team.schema.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withOperator } from '../../database.ts'

const { name, ownerEmail, idempotencyKey } = CreateWorkspaceInput.shape

export const workspaceCreate = defineCommand({
  options: z.strictObject({
    name: name.meta(option('<text>', 'Name of the workspace')),
    'owner-email': ownerEmail.meta(
      option('<address>', 'Address that receives the invite; its recipient becomes the OWNER'),
    ),
    'idempotency-key': idempotencyKey.meta(
      option('<text>', 'Your own name of this call: repeated, it prints the workspace that it created'),
    ),
    json: jsonFlag('Prints the workspace and the invite as JSON'),
  }),
  notes: [
    'Prints the id of the workspace. The command connects to the database directly and is recorded in the audit log.',
    'The owner needs no account yet: the invite links to a page that asks for a password. A worker sends the email.',
  ].join('\n'),
  async run(cli, options) {
    const { name, 'owner-email': ownerEmail, 'idempotency-key': idempotencyKey, json } = options
    const { isRepeated, ...created } = await withOperator(cli, (base) =>
      createWorkspaceAndInviteOwner(base, { name, ownerEmail, idempotencyKey }),
    )
    const { workspace, invite } = created
    cli.terminal.print(json ? JSON.stringify(created) : workspace.id)
    cli.terminal.log(`${isRepeated ? 'Found' : 'Created'} "${workspace.name}". ${describeInvite(invite)}`)
    if (!isRepeated) {
      const command = `rapport key create --workspace ${workspace.id} --role ADMIN --name "First key"`
      cli.terminal.log(`To create an API key:\n  ${command}`)
    }
    return exitCodes.success
  },
})

const describeInvite = (invite: Invite | null) =>
  invite ? `The invite for ${invite.email} expires ${invite.expiresAt}.` : 'Its owner has accepted the invite.'
