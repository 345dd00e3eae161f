/** An image-like piece of work for Python, without a library: a grey picture blurred a few times, about 100 ms of CPU. */
export const BLUR = `
def blur(seed, side=220, rounds=16):
    image = [[(x * y + seed) % 251 for x in range(side)] for y in range(side)]
    for _ in range(rounds):
        image = [[(row[x] + row[x - 1] + above[x] + above[x - 1]) // 4 for x in range(side)]
                 for row, above in zip(image, image[-1:] + image[:-1])]
    return sum(map(sum, image))
`;
