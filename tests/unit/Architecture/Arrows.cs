namespace ProtoRpc.Tests.Architecture;

/// <summary>Which room sees which, by the types that name each other.</summary>
internal static class Arrows
{
    /// <summary>An arrow between two rooms, with the types that make it.</summary>
    internal sealed record Arrow(string From, string To, CodeType User, CodeType Used)
    {
        public override string ToString() =>
            $"{From} -> {To}: {User.FullName} names {Used.FullName}";
    }

    /// <summary>All arrows from one room to another.</summary>
    public static IEnumerable<Arrow> Between(IReadOnlyList<CodeType> types, Func<CodeType, string?> roomOf)
    {
        Dictionary<TypeName, CodeType> known = types.ToDictionary(type => type.Name);
        foreach (CodeType user in types)
        {
            foreach (TypeName name in user.Uses)
            {
                if (known.TryGetValue(name, out CodeType? used)
                    && roomOf(user) is { } from && roomOf(used) is { } to && from != to)
                {
                    yield return new Arrow(from, to, user, used);
                }
            }
        }
    }

    /// <summary>The arrows that a plan has not.</summary>
    public static IEnumerable<Arrow> Forbidden(
        IEnumerable<Arrow> arrows, IReadOnlyDictionary<string, string[]> sees) =>
        arrows.Where(arrow => !sees.TryGetValue(arrow.From, out string[]? seen) || !seen.Contains(arrow.To));

    /// <summary>The rooms that come back to themselves, each cycle once, as 'A -> B -> A'.</summary>
    public static IReadOnlyList<string> Cycles(IEnumerable<(string From, string To)> arrows)
    {
        ILookup<string, string> next = arrows.Distinct().ToLookup(arrow => arrow.From, arrow => arrow.To);
        HashSet<string> done = [];
        List<string> way = [];
        List<string> found = [];
        foreach (string room in next.Select(from => from.Key).Order(StringComparer.Ordinal))
        {
            Walk(room);
        }

        return found;

        void Walk(string room)
        {
            if (way.IndexOf(room) is >= 0 and int start)
            {
                found.Add(string.Join(" -> ", [.. way[start..], room]));
                return;
            }

            if (done.Contains(room))
            {
                return;
            }

            way.Add(room);
            foreach (string to in next[room].Order(StringComparer.Ordinal))
            {
                Walk(to);
            }

            way.RemoveAt(way.Count - 1);
            done.Add(room);
        }
    }
}
