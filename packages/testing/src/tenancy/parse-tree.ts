/** Reads the trees of `libpg-query`. */
import type { Node } from 'libpg-query'

type Kinds = Node extends infer Each ? (Each extends object ? keyof Each : never) : never
type Content<Kind extends Kinds> = Extract<Node, Record<Kind, unknown>>[Kind]

/** Calls `enter` with each node of a tree until it returns true, which leaves the node's children out. */
export function visit(tree: unknown, enter: (node: Node) => boolean): void {
  if (typeof tree !== 'object' || tree === null || enter(tree as Node)) return
  for (const key in tree) visit(Reflect.get(tree, key), enter)
}

/** The nodes of each kind in a tree. It is walked once, and asked for many kinds. */
const nodesByKind = new WeakMap<object, Map<string, unknown[]>>()

/** Finds all nodes of a kind, also in sub-selects. */
export function find<Kind extends Kinds>(tree: unknown, kind: Kind): Content<Kind>[] {
  if (typeof tree !== 'object' || tree === null) return []
  const known = nodesByKind.get(tree) ?? groupByKind(tree)
  return (known.get(kind) ?? []) as Content<Kind>[]
}

function groupByKind(tree: object): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>()
  visit(tree, (node) => {
    for (const kind in node) {
      const nodes = found.get(kind)
      if (nodes) nodes.push(Reflect.get(node, kind))
      else found.set(kind, [Reflect.get(node, kind)])
    }
    return false
  })
  nodesByKind.set(tree, found)
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
