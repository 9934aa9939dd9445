/** The distance of each ring from the one before: a wet year is wide, a dry one narrow. */
const years = [9, 12, 15, 13, 17, 21, 18, 11, 8, 7, 12, 19, 22, 20, 16, 9, 6, 8, 13, 18, 21, 17, 12, 15, 20, 24, 19]

/** The decoration of the page: the rings of a tree. */
export function TreeRings() {
  const radii = years.map((_, year) => years.slice(0, year + 1).reduce((sum, width) => sum + width))
  return (
    <div className="rings" aria-hidden="true">
      <svg viewBox="-420 -420 840 840">
        {radii.map((radius, year) => (
          <ellipse
            key={radius}
            rx={radius}
            ry={radius * 0.94}
            transform={`rotate(${year * 4}) translate(${year * 0.6} 0)`}
          />
        ))}
      </svg>
    </div>
  )
}
