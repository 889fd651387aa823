using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

/// <summary>Finds required fields that are missing.</summary>
internal static class RequiredFields
{
    private const int MaxReported = 10;

    public static void Check(DynamicMessage message)
    {
        message.Layout.Watch?.Invoke(MessagePass.CheckRequired);
        if (IsComplete(message, 0))
        {
            return;
        }
        List<(string Path, FieldLayout Field)> missing = [];
        Collect(message, message.Type.Name, missing, 0);
        string[] paths = [.. missing.Select(m => m.Path)];
        string[] types = [.. missing.Select(m => m.Field.Info.ContainingType.FullName).Distinct()];
        string more = paths.Length > MaxReported ? $" and {paths.Length - MaxReported} more" : "";
        throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{string.Join(", ", paths.Take(MaxReported))}{more} must be set: " +
            $"{(paths.Length == 1 ? "the field is" : "the fields are")} required "
            + $"in {string.Join(", ", types)}.")
        {
            ErrorId = RpcErrorIds.MissingRequiredField,
            FieldPath = paths[0],
        };
    }

    /// <summary>Whether the message's own required fields are set, not those of messages in it.</summary>
    public static bool HasOwn(DynamicMessage message) =>
        HasOwn(message.Layout, message.Scalars, message.References);

    /// <summary>The same for a message whose values are at hand.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool HasOwn(MessageLayout layout, ScalarSlots scalars, ReadOnlySpan<object?> references)
    {
        foreach ((int word, ulong bits) in layout.RequiredBits)
        {
            if ((scalars[word] & bits) != bits)
            {
                return false;
            }
        }
        foreach (int slot in layout.RequiredReferences)
        {
            if (references[slot] is null)
            {
                return false;
            }
        }
        return true;
    }

    private static bool IsComplete(DynamicMessage message, int depth)
    {
        // Deeper ones are refused where they are read and written.
        if (depth > MessageLayout.MaxDepth)
        {
            return true;
        }
        if (!HasOwn(message))
        {
            return false;
        }
        foreach (FieldLayout field in message.Layout.ToRequired)
        {
            switch (message.References[field.Slot])
            {
                case DynamicMessage child:
                    if (!IsComplete(child, depth + 1))
                    {
                        return false;
                    }
                    break;
                case List<DynamicMessage> children:
                    foreach (DynamicMessage child in children)
                    {
                        if (!IsComplete(child, depth + 1))
                        {
                            return false;
                        }
                    }
                    break;
                case OrderedDictionary<object, object> map:
                    foreach (KeyValuePair<object, object> entry in map)
                    {
                        if (!IsComplete((DynamicMessage)entry.Value, depth + 2))
                        {
                            return false;
                        }
                    }
                    break;
            }
        }
        return true;
    }

    private static void Collect(
        DynamicMessage message, string path, List<(string, FieldLayout)> missing, int depth)
    {
        if (depth > MessageLayout.MaxDepth)
        {
            return;
        }
        missing.AddRange(message.Layout.Required
            .Where(field => !message.Has(field))
            .Select(field => ($"{path}.{field.Info.Name}", field)));
        foreach (FieldLayout field in message.Layout.ToRequired)
        {
            string here = $"{path}.{field.Info.Name}";
            switch (message.References[field.Slot])
            {
                case DynamicMessage child:
                    Collect(child, here, missing, depth + 1);
                    break;
                case List<DynamicMessage> children:
                    for (int i = 0; i < children.Count; i++)
                    {
                        Collect(children[i], $"{here}[{i}]", missing, depth + 1);
                    }
                    break;
                case OrderedDictionary<object, object> map:
                    foreach ((object key, object value) in map)
                    {
                        Collect(
                            (DynamicMessage)value, $"{here}[{MessageText.OfKey(key)}]", missing, depth + 2);
                    }
                    break;
            }
        }
    }
}
