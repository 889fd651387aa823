using System.Diagnostics.CodeAnalysis;
using Google.Protobuf;

namespace ProtoRpc.Messages.Mapping;

// Messages in the place of objects.
internal sealed partial class ObjectReader
{
    private bool TryTakeMessage(
        MessageLayout layout, IMessage message, [NotNullWhen(true)] out DynamicMessage? taken)
    {
        taken = null;
        if (message is DynamicMessage dynamic && dynamic.Layout == layout)
        {
            taken = dynamic;
            return true;
        }
        if (message.Descriptor.FullName == layout.Type.FullName)
        {
            // The same message of another schema, or generated code.
            taken = DynamicMessage.Parse(layout.Type, message.ToByteArray());
            return true;
        }
        return layout.WellKnown is WellKnownType.Any or WellKnownType.Value
            ? false
            : throw WrongMessage(layout, message, message.Descriptor.FullName);
    }

    private DynamicMessage ReadEncoded(MessageLayout layout, string fullName, byte[] bytes) =>
        fullName == layout.Type.FullName ? DynamicMessage.Parse(layout.Type, bytes)
            : layout.WellKnown == WellKnownType.Any
                ? WellKnownReader.Pack(layout, WellKnownReader.TypePrefix + fullName, bytes)
                : throw WrongMessage(layout, bytes, fullName);

    private RpcException WrongMessage(MessageLayout layout, object message, string fullName) =>
        Invalid(message, $"is a message {fullName}, where a {layout.Type.FullName} is needed.");
}
