using ProtoRpc.Protocols.Rest;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Compares the routes that rules of google.api.http give a method.</summary>
internal static class RestRouteComparer
{
    public static void Compare(
        RpcMethodInfo older, RpcMethodInfo newer, SchemaElement element, ChangeList changes)
    {
        IReadOnlyList<RestBinding> before = RestRules.Read(older, new List<string>());
        if (before.Count == 0)
        {
            return;
        }

        Dictionary<string, HashSet<string>> after = new(StringComparer.Ordinal);
        foreach (RestBinding binding in RestRules.Read(newer, new List<string>()))
        {
            string route = RouteOf(binding);
            if (!after.TryGetValue(route, out HashSet<string>? contents))
            {
                after.Add(route, contents = new HashSet<string>(StringComparer.Ordinal));
            }

            contents.Add(ContentOf(binding));
        }

        foreach (RestBinding binding in before)
        {
            if (!after.TryGetValue(RouteOf(binding), out HashSet<string>? contents))
            {
                changes.Add(
                    RpcBreakingRule.RestRouteDeleted, RpcBreakingCategory.Json, element,
                    $"The route {Shown(binding.ToString())} was deleted. Keep it in additional_bindings.");
            }
            else if (!contents.Contains(ContentOf(binding)))
            {
                changes.Add(
                    RpcBreakingRule.RestRouteChanged, RpcBreakingCategory.Json, element,
                    $"The route {Shown(binding.ToString())} changed: its variables, body or response_body "
                    + "are other fields. Set them back, or use another path.");
            }
        }
    }

    // The part of a rule that requests are matched with. The names of variables are not sent.
    private static string RouteOf(RestBinding binding)
    {
        StringBuilder route = new(binding.HttpMethod);
        foreach (RestSegment segment in binding.Template.Segments)
        {
            // A literal may contain an escaped slash or star.
            route.Append('/').Append(segment.Kind switch
            {
                RestSegmentKind.Any => "*",
                RestSegmentKind.Deep => "**",
                _ => Uri.EscapeDataString(segment.Literal),
            });
        }

        return binding.Template.Verb is { } verb ? $"{route}:{Uri.EscapeDataString(verb)}" : $"{route}";
    }

    // The mapping of fields to the path, query and body of the request, and to the reply. Fields are compared
    // by number, because another rule compares their names.
    private static string ContentOf(RestBinding binding)
    {
        IEnumerable<string> variables = binding.Fields.Select((fields, i) =>
            $"{binding.Template.Variables[i].Start}-{binding.Template.Variables[i].End}="
            + string.Join('.', fields.Select(field => field.Number)));
        string body = binding.IsBodyWhole ? "*" : $"{binding.BodyField?.Number}";
        return $"{string.Join(',', variables)} {body} {binding.ReplyField?.Number}";
    }
}
