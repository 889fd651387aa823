using System.Collections;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Messages;

/// <summary>Compiles the check of <see cref="GeneratedRequired"/> for one generated class: it reads the
/// properties of the class itself, which takes a tenth of the time of its descriptor's accessors.</summary>
internal static class GeneratedRequiredCode
{
    private static readonly MethodInfo IsComplete =
        typeof(GeneratedRequired).GetMethod(nameof(GeneratedRequired.IsComplete), [typeof(IMessage)])!;

    private static readonly MethodInfo IsMapComplete =
        typeof(GeneratedRequired).GetMethod(nameof(GeneratedRequired.AreComplete), [typeof(IDictionary)])!;

    private static readonly MethodInfo IsListComplete = typeof(GeneratedRequired).GetMethods()
        .Single(method => method.Name == nameof(GeneratedRequired.AreComplete) && method.IsGenericMethod);

    private static readonly MethodInfo AreExtensionsComplete =
        typeof(GeneratedRequired).GetMethod(nameof(GeneratedRequired.AreExtensionsComplete))!;

    /// <summary>The code; null where none can be compiled, or properties were trimmed away.</summary>
    /// <param name="type">The class.</param>
    /// <param name="required">Its required fields.</param>
    /// <param name="toRequired">Its fields whose messages have required ones.</param>
    /// <param name="held">The types of these messages.</param>
    /// <param name="mayHaveExtensions">Whether extensions may have required fields.</param>
    public static Func<IMessage, bool>? TryMake(
        MessageDescriptor type, FieldDescriptor[] required, FieldDescriptor[] toRequired,
        GeneratedRequired[] held, bool mayHaveExtensions)
    {
        // The compiler of native code leaves the rest of the method out.
        if (!RuntimeFeature.IsDynamicCodeSupported)
        {
            return null;
        }

        if (!RuntimeFeature.IsDynamicCodeCompiled || type.ClrType is not { } message)
        {
            return null;
        }

        // Generated classes may be internal, and their assembly may know nothing of this one.
        DynamicMethod method = new(
            $"HasRequired_{message.Name}", typeof(bool), [typeof(GeneratedRequired[]), typeof(IMessage)],
            message.Module, skipVisibility: true);
        ILGenerator code = method.GetILGenerator();
        Label missing = code.DefineLabel();
        code.DeclareLocal(message);
        code.Emit(OpCodes.Ldarg_1);
        code.Emit(OpCodes.Castclass, message);
        code.Emit(OpCodes.Stloc_0);
        foreach (FieldDescriptor field in required)
        {
            if (PresenceOf(message, field) is not { } isSet)
            {
                return null;
            }

            code.Emit(OpCodes.Ldloc_0);
            code.Emit(OpCodes.Call, isSet);
            code.Emit(OpCodes.Brfalse, missing);
        }

        for (int i = 0; i < toRequired.Length; i++)
        {
            if (GetterOf(message, toRequired[i].PropertyName) is not { } get)
            {
                return null;
            }

            CheckHeld(code, get, i, missing);
        }

        if (mayHaveExtensions)
        {
            code.Emit(OpCodes.Ldloc_0);
            code.Emit(OpCodes.Call, AreExtensionsComplete);
            code.Emit(OpCodes.Brfalse, missing);
        }

        code.Emit(OpCodes.Ldc_I4_1);
        code.Emit(OpCodes.Ret);
        code.MarkLabel(missing);
        code.Emit(OpCodes.Ldc_I4_0);
        code.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<IMessage, bool>>(held);
    }

    [UnconditionalSuppressMessage(
        "AOT", "IL3050", Justification = "Not called where code cannot be made at run time.")]
    [UnconditionalSuppressMessage(
        "Trimming", "IL2060", Justification = "The method needs nothing of its type argument.")]
    private static void CheckHeld(ILGenerator code, MethodInfo get, int index, Label missing)
    {
        Label absent = code.DefineLabel();
        Type held = get.ReturnType;
        bool isList = held.IsGenericType && held.GetGenericTypeDefinition() == typeof(RepeatedField<>);
        bool isMap = typeof(IDictionary).IsAssignableFrom(held);
        if (!isList && !isMap)
        {
            code.Emit(OpCodes.Ldloc_0);
            code.Emit(OpCodes.Call, get);
            code.Emit(OpCodes.Brfalse, absent);
        }

        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldc_I4, index);
        code.Emit(OpCodes.Ldelem_Ref);
        code.Emit(OpCodes.Ldloc_0);
        code.Emit(OpCodes.Call, get);
        code.Emit(
            OpCodes.Call,
            isList ? IsListComplete.MakeGenericMethod(held.GetGenericArguments())
                : isMap ? IsMapComplete
                : IsComplete);
        code.Emit(OpCodes.Brfalse, missing);
        code.MarkLabel(absent);
    }

    // A message is set if it is not null, but for wrappers, which are nullable numbers. All others have a
    // property that says so.
    private static MethodInfo? PresenceOf(Type message, FieldDescriptor field) =>
        field.FieldType is FieldType.Message or FieldType.Group
            ? GetterOf(message, field.PropertyName) is { ReturnType.IsValueType: false } get ? get : null
            : GetterOf(message, $"Has{field.PropertyName}") is { } has && has.ReturnType == typeof(bool)
                ? has
                : null;

    [UnconditionalSuppressMessage(
        "Trimming", "IL2070", Justification = "Without its property a class is checked by its accessors.")]
    private static MethodInfo? GetterOf(Type message, string name) =>
        message.GetProperty(name) is { GetMethod: { IsStatic: false } get } ? get : null;
}
