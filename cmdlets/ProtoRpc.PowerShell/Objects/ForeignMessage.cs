using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Reads messages of another copy of Google.Protobuf, such as those of generated classes that a
/// script or another module loaded. The module has a copy of its own (docs/architecture.md, "Load contexts"),
/// so these classes are not messages to it.</summary>
internal static class ForeignMessage
{
    private const string Interface = "Google.Protobuf.IMessage";

    // Null for types that are not messages.
    private static readonly ConditionalWeakTable<Type, Reader?> Readers = [];

    /// <summary>The full name and the bytes of a message; null for other objects.</summary>
    /// <exception cref="RpcException">InvalidArgument: the message cannot be encoded.</exception>
    public static (string FullName, byte[] Bytes)? Read(object value) =>
        Readers.GetValue(value.GetType(), Reader.Create)?.Read(value);

    private sealed class Reader(PropertyInfo descriptor, MethodInfo toByteArray)
    {
        public static Reader? Create(Type type)
        {
            Type? message = type.GetInterface(Interface);
            PropertyInfo? descriptor = message?.GetProperty("Descriptor");
            MethodInfo? toByteArray = message?.Assembly.GetType("Google.Protobuf.MessageExtensions")
                ?.GetMethod("ToByteArray", [message]);
            return message == typeof(IMessage) || descriptor is null || toByteArray is null
                ? null
                : new Reader(descriptor, toByteArray);
        }

        public (string FullName, byte[] Bytes) Read(object value)
        {
            try
            {
                object type = descriptor.GetValue(value)!;
                return (
                    (string)type.GetType().GetProperty("FullName")!.GetValue(type)!,
                    (byte[])toByteArray.Invoke(null, [value])!);
            }
            catch (TargetInvocationException e)
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
                    $"The {value.GetType().FullName} cannot be encoded: {e.InnerException!.Message} Give a "
                    + "hashtable.", e);
            }
        }
    }
}
