namespace ProtoRpc.Views;

/// <summary>A member of a message as views see it.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Value">Its value, as the object holds it.</param>
/// <param name="Field">The field that it is, where that is known.</param>
internal readonly record struct ViewMember(string Name, object? Value, RpcFieldInfo? Field)
{
    private const string TypeKey = "@type";

    /// <summary>The members of a message's object, with the fields of its type.</summary>
    public static IEnumerable<ViewMember> Of(IObjectModel objects, object message, RpcMessageInfo? type)
    {
        if (!objects.TryGetMembers(message, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            yield break;
        }

        foreach ((string name, object? value) in members)
        {
            if (name == TypeKey && type is not null && value is string url)
            {
                // An Any, which is shown as what it holds.
                type = type.Schema.FindMessage(url[(url.LastIndexOf('/') + 1)..]);
            }

            yield return new(name, value, type?.FindField(name));
        }
    }

    /// <summary>Whether a short form leaves it out: it is absent, or what it is when it was not
    /// set.</summary>
    public bool IsOmitted(ViewValue seen) => seen.Kind == ViewKind.Absent
        || (seen.Kind is ViewKind.List or ViewKind.Map && seen.Count == 0)
        || (Field is { HasPresence: false } && (seen.IsDefault || IsFirstOfEnum(seen)));

    /// <summary>The field that the values of a map are of, or that the elements of a list are.</summary>
    public static RpcFieldInfo? ElementOf(RpcFieldInfo? field) =>
        field is { IsMap: true } ? field.MessageType!.Fields[1] : field;

    private bool IsFirstOfEnum(ViewValue seen) => seen.Kind == ViewKind.Text
        && Field?.EnumType is { } type && type.FindName(0) is { } zero && (string)seen.Value! == zero;
}
