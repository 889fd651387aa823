using System.Collections;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>What a message is after JSON, which has one null: a NullValue has the number 0 (C++, Java and Go
/// write null for each), and a Value without a kind is null (as in C++, Java and Python).</summary>
internal static class JsonNulls
{
    /// <summary>A copy of a message in which each null is the one of JSON.</summary>
    public static IMessage Of(IMessage message)
    {
        IMessage copy = message.Descriptor.Parser.ParseFrom(message.ToByteArray());
        Change(copy);
        return copy;
    }

    private static void Change(IMessage message)
    {
        if (message is Value { KindCase: Value.KindOneofCase.None } value)
        {
            value.NullValue = NullValue.NullValue;
            return;
        }

        if (message is Any any)
        {
            Change(any);
            return;
        }

        foreach (FieldDescriptor field in message.Descriptor.Fields.InDeclarationOrder())
        {
            switch (field.Accessor.GetValue(message))
            {
                case IDictionary map:
                    foreach (object key in map.Keys.Cast<object>().ToList())
                    {
                        Change(map[key], one => map[key] = one);
                    }

                    break;
                case IList list:
                    for (int i = 0; i < list.Count; i++)
                    {
                        Change(list[i], one => list[i] = one);
                    }

                    break;
                case { } single when !field.HasPresence || field.Accessor.HasValue(message):
                    Change(single, one => field.Accessor.SetValue(message, one));
                    break;
                default:
                    break;
            }
        }
    }

    // Changes a message where it is, and replaces a null of another number.
    private static void Change(object? value, Action<object> replace)
    {
        if (value is IMessage message)
        {
            Change(message);
        }
        else if (value is NullValue)
        {
            replace(NullValue.NullValue);
        }
    }

    private static void Change(Any any)
    {
        if (GeneratedTypes.Registry.Find(Any.GetTypeName(any.TypeUrl)) is { } type)
        {
            IMessage inner = type.Parser.ParseFrom(any.Value);
            Change(inner);
            any.Value = inner.ToByteString();
        }
    }
}
