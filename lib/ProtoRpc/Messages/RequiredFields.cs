using System.Runtime.CompilerServices;
using ProtoRpc.Messages.Mapping;

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
        MissingFields missing = new(message.Type.Name);
        Collect(message, missing, 0);
        string more = missing.Count > MaxReported ? $" and {missing.Count - MaxReported} more" : "";
        throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{string.Join(", ", missing.Paths)}{more} must be set: " +
            $"{(missing.Count == 1 ? "the field is" : "the fields are")} required "
            + $"in {string.Join(", ", missing.Types.Distinct())}.")
        {
            ErrorId = RpcErrorIds.MissingRequiredField,
            FieldPath = missing.Paths[0],
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
        // Deeper messages are rejected when they are read or written.
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

    private static void Collect(DynamicMessage message, MissingFields missing, int depth)
    {
        if (depth > MessageLayout.MaxDepth)
        {
            return;
        }
        foreach (FieldLayout field in message.Layout.Required)
        {
            if (!message.Has(field))
            {
                missing.Add(field.Info);
            }
        }
        foreach (FieldLayout field in message.Layout.ToRequired)
        {
            missing.Path.PushField(field.Info.Name);
            switch (message.References[field.Slot])
            {
                case DynamicMessage child:
                    Collect(child, missing, depth + 1);
                    break;
                case List<DynamicMessage> children:
                    for (int i = 0; i < children.Count; i++)
                    {
                        missing.Path.PushIndex(i);
                        Collect(children[i], missing, depth + 1);
                        missing.Path.Pop();
                    }
                    break;
                case OrderedDictionary<object, object> map:
                    foreach ((object key, object value) in map)
                    {
                        missing.Path.PushKey(key);
                        Collect((DynamicMessage)value, missing, depth + 2);
                        missing.Path.Pop();
                    }
                    break;
            }
            missing.Path.Pop();
        }
    }

    // Only the first missing fields are reported: a peer's message may lack millions, each with a long path.
    private sealed class MissingFields(string root)
    {
        public ObjectPath Path { get; } = new(root);

        public List<string> Paths { get; } = [];

        public List<string> Types { get; } = [];

        public int Count { get; private set; }

        public void Add(RpcFieldInfo field)
        {
            if (++Count > MaxReported)
            {
                return;
            }
            Path.PushField(field.Name);
            Paths.Add(Path.ToString());
            Path.Pop();
            Types.Add(field.ContainingType.FullName);
        }
    }
}
