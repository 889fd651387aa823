using System.Diagnostics.CodeAnalysis;
using Google.Protobuf.Reflection;

namespace ProtoRpc.AspNetCore.Application;

/// <summary>Finds the message of a .NET type.</summary>
internal abstract class MessageTypes
{
    /// <summary>For a schema that was not generated: the type is asked for its message.</summary>
    public static MessageTypes Reflected
    {
        [RequiresUnreferencedCode("Makes an instance of a type that is known at run time only.")]
        get => new OfInstance();
    }

    /// <summary>The types that were generated for the messages of a service.</summary>
    public static MessageTypes From(ServiceDescriptor service) => new OfService(service);

    /// <summary>The message of a type; null if it is not a message.</summary>
    public abstract MessageDescriptor? Find(Type type);

    /// <summary>The generated type of a message; null for none.</summary>
    public virtual Type? TypeOf(string fullName) => null;

    private sealed class OfService : MessageTypes
    {
        private readonly Dictionary<Type, MessageDescriptor> _types = [];

        public OfService(ServiceDescriptor service)
        {
            foreach (MessageDescriptor message in service.Methods
                .SelectMany(method => new[] { method.InputType, method.OutputType })
                .Where(message => message.ClrType is not null))
            {
                _types[message.ClrType] = message;
            }
        }

        public override MessageDescriptor? Find(Type type) => _types.GetValueOrDefault(type);

        public override Type? TypeOf(string fullName) =>
            _types.FirstOrDefault(pair => pair.Value.FullName == fullName).Key;
    }

    [RequiresUnreferencedCode("Makes an instance of a type that is known at run time only.")]
    private sealed class OfInstance : MessageTypes
    {
        public override MessageDescriptor? Find(Type type) =>
            typeof(IMessage).IsAssignableFrom(type) && type is { IsAbstract: false, IsInterface: false }
            && type != typeof(DynamicMessage) && type.GetConstructor(Type.EmptyTypes) is not null
                ? ((IMessage)Activator.CreateInstance(type)!).Descriptor
                : null;
    }
}
