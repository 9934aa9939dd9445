/** Reads the trees of `libpg-query`. */
import type { Node } from 'libpg-query'

type Kinds = Node extends infer Each ? (Each extends object ? keyof Each : never) : never
type Content<Kind extends Kinds> = Extract<Node, Record<Kind, unknown>>[Kind]

/** Calls `enter` with each node of a tree until it returns true, which leaves the node's children out. */
export function visit(tree: unknown, enter: (node: Node) => boolean): void {
  if (typeof tree !== 'object' || tree === null || enter(tree as Node)) return
  for (const key in tree) visit(Reflect.get(tree, key), enter)
}

/** Finds all nodes of a kind, also in sub-selects. */
export function find<Kind extends Kinds>(tree: unknown, kind: Kind): Content<Kind>[] {
  const found: Content<Kind>[] = []
  visit(tree, (node) => {
    if (kind in node) found.push(Reflect.get(node, kind) as Content<Kind>)
    return false
  })
  return found
}

/** The tables, sub-selects and functions of a FROM clause. */
export function sourcesOf(from: readonly Node[] | undefined): Node[] {
  return (from ?? []).flatMap((item) => {
    if (!('JoinExpr' in item)) return [item]
    const { larg, rarg } = item.JoinExpr
    return [...sourcesOf(larg && [larg]), ...sourcesOf(rarg && [rarg])]
  })
}

export function stringOf(node: Node | undefined): string {
  return node && 'String' in node ? (node.String.sval ?? '') : ''
}
