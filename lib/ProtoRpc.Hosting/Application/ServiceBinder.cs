using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Application;

/// <summary>Finds the methods of a class that handle the methods of a service.</summary>
internal static class ServiceBinder
{
    private const string AsyncEnding = "Async";

    /// <exception cref="RpcException">InvalidArgument: a method that the class does not have, has with other
    /// types, or has twice; with the method as it must be.</exception>
    public static ServerService Bind(
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)] Type type,
        RpcServiceInfo service,
        MessageTypes messages,
        Guid? interfaceId)
    {
        MethodInfo[] all = type.GetMethods(BindingFlags.Public | BindingFlags.Instance);
        ServerService bound = new(service, interfaceId ?? service.InterfaceId);
        List<string> failures = [];
        foreach (RpcMethodInfo method in service.Methods)
        {
            MethodShape shape = new(method, messages);
            MethodInfo[] named = Named(all, method.Name);
            BoundMethod[] fitting =
                [.. named.Select(candidate => shape.TryBind(type, candidate)).OfType<BoundMethod>()];
            if (fitting is [{ } only])
            {
                bound.Add(only.ToServerMethod());
                continue;
            }

            failures.Add(
                $"{method.FullName}: "
                + (named.Length == 0 ? "the class has no public method of that name"
                    : fitting.Length > 1 ? "several methods of the class match"
                    : $"'{MethodShape.Write(named[0])}' does not match")
                + $". Write '{shape}'; context and token are optional.");
        }

        return failures.Count == 0
            ? bound
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The class {type.FullName} cannot serve {service.FullName}. {string.Join(" ", failures)}");
    }

    private static MethodInfo[] Named(MethodInfo[] all, string name)
    {
        MethodInfo[] named = [.. all.Where(method => method.Name == name)];
        return named.Length > 0 ? named : [.. all.Where(method => method.Name == name + AsyncEnding)];
    }
}
