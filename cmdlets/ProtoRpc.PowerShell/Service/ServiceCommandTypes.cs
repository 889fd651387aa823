using System.Collections.Concurrent;
using System.Management.Automation;
using System.Reflection;
using System.Reflection.Emit;
using System.Security.Cryptography;
using System.Text;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Service;

/// <summary>Makes the classes of commands: cmdlets with a property for each field.</summary>
/// <remarks>What a schema says enters them as names, which its reader has checked, and as texts of
/// attributes.</remarks>
internal sealed class ServiceCommandTypes(TextBudget budget)
{
    private const MethodAttributes Accessor =
        MethodAttributes.Public | MethodAttributes.HideBySig | MethodAttributes.SpecialName;

    // The shell keeps what it knows of a class as long as the process runs. So importing a service again,
    // also in other runspaces, makes no new classes.
    private static readonly ConcurrentDictionary<string, Type> Known = new(StringComparer.Ordinal);

    private static readonly CustomAttributeBuilder Optional = Parameter(
        (nameof(ParameterAttribute.ValueFromPipelineByPropertyName), true),
        (nameof(ParameterAttribute.ParameterSetName), RpcServiceCommand.ByFields));

    private static readonly CustomAttributeBuilder Mandatory = Parameter(
        (nameof(ParameterAttribute.Mandatory), true),
        (nameof(ParameterAttribute.ValueFromPipelineByPropertyName), true),
        (nameof(ParameterAttribute.ParameterSetName), RpcServiceCommand.ByFields));

    private static readonly CustomAttributeBuilder WithInput = Parameter(
        (nameof(ParameterAttribute.ParameterSetName), RpcServiceCommand.ByInput));

    private static readonly CustomAttributeBuilder AllowEmptyList =
        Of(typeof(AllowEmptyCollectionAttribute));

    private static readonly CustomAttributeBuilder AllowEmptyText = Of(typeof(AllowEmptyStringAttribute));

    private ModuleBuilder? _module;
    private int _requests;

    private ModuleBuilder Module => _module ??= AssemblyBuilder
        .DefineDynamicAssembly(new($"ProtoRpc.Commands.{Guid.NewGuid():N}"), AssemblyBuilderAccess.Run)
        .DefineDynamicModule("Commands");

    /// <summary>The class of a command.</summary>
    public Type Of(ServiceCommand command)
    {
        (string request, string[][] suggestions) = RequestOf(command);
        return Known.GetOrAdd(
            KeyOf(command.Name, command.Method.ReplyType.FullName, request),
            static (_, all) => all.Types.Create(all.Command, all.Request, all.Suggestions),
            (Types: this, Command: command, Request: request, Suggestions: suggestions));
    }

    // What the properties are made of.
    private (string Key, string[][] Suggestions) RequestOf(ServiceCommand command)
    {
        string[][] suggestions =
            [.. command.Parameters.Select(parameter => ParameterSuggestions.Of(parameter, budget))];
        List<string> parts = [];
        foreach ((CommandParameter parameter, string[] values) in command.Parameters.Zip(suggestions))
        {
            parts.AddRange(
                [parameter.Name, TypeOf(parameter).FullName!, $"{parameter.Text} {parameter.IsMandatory}"]);
            parts.AddRange([$"{parameter.Aliases.Count}", .. parameter.Aliases]);
            parts.AddRange([$"{values.Length}", .. values]);
        }

        return (KeyOf([.. parts]), suggestions);
    }

    private static string KeyOf(params string[] parts)
    {
        StringBuilder text = new();
        foreach (string part in parts)
        {
            text.Append(part.Length).Append(':').Append(part);
        }

        return Convert.ToHexString(SHA256.HashData(Encoding.Unicode.GetBytes(text.ToString())));
    }

    private Type Create(ServiceCommand command, string request, string[][] suggestions)
    {
        Type fields = Known.GetOrAdd(
            request, static (_, all) => all.Types.CreateRequest(all.Command.Parameters, all.Suggestions),
            (Types: this, Command: command, Suggestions: suggestions));

        // The shell ends the ids of errors with the name of the class.
        TypeBuilder type = Module.DefineType(
            command.Name, TypeAttributes.Public | TypeAttributes.Sealed, fields);
        type.DefineDefaultConstructor(MethodAttributes.Public);
        int dash = command.Name.IndexOf('-', StringComparison.Ordinal);
        type.SetCustomAttribute(new(
            typeof(CmdletAttribute).GetConstructor([typeof(string), typeof(string)])!,
            [command.Name[..dash], command.Name[(dash + 1)..]],
            [typeof(CmdletAttribute).GetProperty(nameof(CmdletAttribute.DefaultParameterSetName))!],
            [RpcServiceCommand.ByFields]));
        type.SetCustomAttribute(
            Of(typeof(OutputTypeAttribute), [ObjectTypeNames.Of(command.Method.ReplyType)]));
        return type.CreateType();
    }

    // Commands with the same request have the same base class: it has most of the work.
    private Type CreateRequest(IReadOnlyList<CommandParameter> parameters, string[][] suggestions)
    {
        TypeBuilder type = Module.DefineType(
            $"Request{++_requests}", TypeAttributes.Public | TypeAttributes.Abstract,
            typeof(RpcServiceCommand));
        type.DefineDefaultConstructor(MethodAttributes.Family);
        foreach ((CommandParameter parameter, string[] values) in parameters.Zip(suggestions))
        {
            Add(type, parameter, values);
        }

        return type.CreateType();
    }

    private static void Add(TypeBuilder type, CommandParameter parameter, string[] suggestions)
    {
        PropertyBuilder property = Property(type, parameter.Name, TypeOf(parameter));
        property.SetCustomAttribute(parameter.IsMandatory ? Mandatory : Optional);
        property.SetCustomAttribute(WithInput);
        if (parameter.Aliases.Count > 0)
        {
            property.SetCustomAttribute(Of(typeof(AliasAttribute), [.. parameter.Aliases]));
        }

        if (parameter.Text != ArgumentText.Plain)
        {
            property.SetCustomAttribute(new(
                typeof(RpcFieldTextAttribute).GetConstructor([typeof(string)])!,
                [parameter.Text.ToString()]));
        }

        if (suggestions.Length > 0)
        {
            property.SetCustomAttribute(Of(typeof(ArgumentCompletionsAttribute), suggestions));
        }

        if (parameter.IsMandatory && parameter.Type.IsArray)
        {
            property.SetCustomAttribute(AllowEmptyList);
        }
        else if (parameter.IsMandatory && parameter.Type == typeof(string))
        {
            property.SetCustomAttribute(AllowEmptyText);
        }
    }

    private static Type TypeOf(CommandParameter parameter) =>
        parameter.IsSwitch ? typeof(SwitchParameter) : parameter.Type;

    private static PropertyBuilder Property(TypeBuilder type, string name, Type valueType)
    {
        FieldBuilder field = type.DefineField($"_{name}", valueType, FieldAttributes.Private);
        PropertyBuilder property = type.DefineProperty(name, PropertyAttributes.None, valueType, null);

        MethodBuilder get = type.DefineMethod($"get_{name}", Accessor, valueType, Type.EmptyTypes);
        ILGenerator code = get.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldfld, field);
        code.Emit(OpCodes.Ret);
        property.SetGetMethod(get);

        MethodBuilder set = type.DefineMethod($"set_{name}", Accessor, typeof(void), [valueType]);
        code = set.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldarg_1);
        code.Emit(OpCodes.Stfld, field);
        code.Emit(OpCodes.Ret);
        property.SetSetMethod(set);
        return property;
    }

    private static CustomAttributeBuilder Of(Type attribute) =>
        new(attribute.GetConstructor(Type.EmptyTypes)!, []);

    // Of an attribute that has a list of texts.
    private static CustomAttributeBuilder Of(Type attribute, string[] texts) =>
        new(attribute.GetConstructor([typeof(string[])])!, [texts]);

    private static CustomAttributeBuilder Parameter(params (string Name, object Value)[] values) => new(
        typeof(ParameterAttribute).GetConstructor(Type.EmptyTypes)!,
        [],
        [.. values.Select(value => typeof(ParameterAttribute).GetProperty(value.Name)!)],
        [.. values.Select(value => value.Value)]);
}
