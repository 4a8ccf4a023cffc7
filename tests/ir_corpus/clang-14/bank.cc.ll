; ModuleID = 'bank.cc'
source_filename = "bank.cc"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%"class.bank::Lock" = type { %union.pthread_mutex_t }
%union.pthread_mutex_t = type { %struct.__pthread_mutex_s }
%struct.__pthread_mutex_s = type { i32, i32, i32, i32, i32, i16, i16, %struct.__pthread_internal_list }
%struct.__pthread_internal_list = type { %struct.__pthread_internal_list*, %struct.__pthread_internal_list* }
%"struct.bank::(anonymous namespace)::Hidden" = type { %"struct.bank::Pair", %"struct.bank::Pair.0" }
%"struct.bank::Pair" = type { i32, i32 }
%"struct.bank::Pair.0" = type { i64, i64 }
%"struct.bank::Account" = type { %"struct.bank::Base.base", i8, i64 }
%"struct.bank::Base.base" = type <{ i32 (...)**, i32, i8 }>
%union.pthread_mutexattr_t = type { i32 }
%"class.bank::Guard" = type { %"class.bank::Lock"* }
%"struct.bank::Base" = type <{ i32 (...)**, i32, i8, [3 x i8] }>
%class.anon = type { i8 }
%"struct.bank::Empty" = type { i8 }

$_ZN4bank4LockC2Ev = comdat any

$_ZN4bank5GuardC2ERNS_4LockE = comdat any

$_ZN4bank5GuardD2Ev = comdat any

$_ZNK4bank4PairIlE3sumEv = comdat any

$_ZN4bank7AccountC2Ev = comdat any

$_ZN4bank7AccountD2Ev = comdat any

$_ZN4bank7AccountD0Ev = comdat any

$_ZN4bank4Lock4takeEv = comdat any

$_ZN4bank4Lock4giveEv = comdat any

$__clang_call_terminate = comdat any

$_ZNK4bank4PairIiE3sumEv = comdat any

$_ZN4bank4BaseC2Ev = comdat any

$_ZN4bank4Base5worthEv = comdat any

$_ZN4bank4BaseD2Ev = comdat any

$_ZN4bank4BaseD0Ev = comdat any

$_ZTSN4bank5EmptyE = comdat any

$_ZTIN4bank5EmptyE = comdat any

$_ZTSN4bank4BaseE = comdat any

$_ZTIN4bank4BaseE = comdat any

$_ZTVN4bank4BaseE = comdat any

@_ZN4bank7Account5countE = dso_local global i32 0, align 4, !dbg !0
@_ZN4bankL4lockE = internal global %"class.bank::Lock" zeroinitializer, align 8, !dbg !37
@_ZTIi = external constant i8*
@_ZN4bank12_GLOBAL__N_16hiddenE = internal global %"struct.bank::(anonymous namespace)::Hidden" zeroinitializer, align 8, !dbg !78
@_ZZ4mainE7account = internal global %"struct.bank::Account"* null, align 8, !dbg !107
@_ZGVZ4mainE7account = internal global i64 0, align 8
@_ZTVN4bank7AccountE = dso_local unnamed_addr constant { [5 x i8*] } { [5 x i8*] [i8* null, i8* bitcast ({ i8*, i8*, i32, i32, i8*, i64, i8*, i64 }* @_ZTIN4bank7AccountE to i8*), i8* bitcast (i32 (%"struct.bank::Account"*)* @_ZN4bank7Account5worthEv to i8*), i8* bitcast (void (%"struct.bank::Account"*)* @_ZN4bank7AccountD2Ev to i8*), i8* bitcast (void (%"struct.bank::Account"*)* @_ZN4bank7AccountD0Ev to i8*)] }, align 8
@_ZTVN10__cxxabiv121__vmi_class_type_infoE = external global i8*
@_ZTSN4bank7AccountE = dso_local constant [16 x i8] c"N4bank7AccountE\00", align 1
@_ZTVN10__cxxabiv117__class_type_infoE = external global i8*
@_ZTSN4bank5EmptyE = linkonce_odr dso_local constant [14 x i8] c"N4bank5EmptyE\00", comdat, align 1
@_ZTIN4bank5EmptyE = linkonce_odr dso_local constant { i8*, i8* } { i8* bitcast (i8** getelementptr inbounds (i8*, i8** @_ZTVN10__cxxabiv117__class_type_infoE, i64 2) to i8*), i8* getelementptr inbounds ([14 x i8], [14 x i8]* @_ZTSN4bank5EmptyE, i32 0, i32 0) }, comdat, align 8
@_ZTSN4bank4BaseE = linkonce_odr dso_local constant [13 x i8] c"N4bank4BaseE\00", comdat, align 1
@_ZTIN4bank4BaseE = linkonce_odr dso_local constant { i8*, i8* } { i8* bitcast (i8** getelementptr inbounds (i8*, i8** @_ZTVN10__cxxabiv117__class_type_infoE, i64 2) to i8*), i8* getelementptr inbounds ([13 x i8], [13 x i8]* @_ZTSN4bank4BaseE, i32 0, i32 0) }, comdat, align 8
@_ZTIN4bank7AccountE = dso_local constant { i8*, i8*, i32, i32, i8*, i64, i8*, i64 } { i8* bitcast (i8** getelementptr inbounds (i8*, i8** @_ZTVN10__cxxabiv121__vmi_class_type_infoE, i64 2) to i8*), i8* getelementptr inbounds ([16 x i8], [16 x i8]* @_ZTSN4bank7AccountE, i32 0, i32 0), i32 0, i32 2, i8* bitcast ({ i8*, i8* }* @_ZTIN4bank5EmptyE to i8*), i64 2, i8* bitcast ({ i8*, i8* }* @_ZTIN4bank4BaseE to i8*), i64 2 }, align 8
@_ZTVN4bank4BaseE = linkonce_odr dso_local unnamed_addr constant { [5 x i8*] } { [5 x i8*] [i8* null, i8* bitcast ({ i8*, i8* }* @_ZTIN4bank4BaseE to i8*), i8* bitcast (i32 (%"struct.bank::Base"*)* @_ZN4bank4Base5worthEv to i8*), i8* bitcast (void (%"struct.bank::Base"*)* @_ZN4bank4BaseD2Ev to i8*), i8* bitcast (void (%"struct.bank::Base"*)* @_ZN4bank4BaseD0Ev to i8*)] }, comdat, align 8
@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 65535, void ()* @_GLOBAL__sub_I_bank.cc, i8* null }]

; Function Attrs: noinline uwtable
define internal void @__cxx_global_var_init() #0 section ".text.startup" !dbg !133 {
  call void @_ZN4bank4LockC2Ev(%"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) @_ZN4bankL4lockE), !dbg !137
  ret void, !dbg !137
}

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank4LockC2Ev(%"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) %0) unnamed_addr #1 comdat align 2 !dbg !139 {
  %2 = alloca %"class.bank::Lock"*, align 8
  store %"class.bank::Lock"* %0, %"class.bank::Lock"** %2, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Lock"** %2, metadata !140, metadata !DIExpression()), !dbg !142
  %3 = load %"class.bank::Lock"*, %"class.bank::Lock"** %2, align 8
  %4 = getelementptr inbounds %"class.bank::Lock", %"class.bank::Lock"* %3, i32 0, i32 0, !dbg !143
  %5 = getelementptr inbounds %"class.bank::Lock", %"class.bank::Lock"* %3, i32 0, i32 0, !dbg !144
  %6 = call i32 @pthread_mutex_init(%union.pthread_mutex_t* noundef %5, %union.pthread_mutexattr_t* noundef null) #7, !dbg !146
  ret void, !dbg !147
}

; Function Attrs: mustprogress noinline optnone uwtable
define dso_local noundef i32 @_ZN4bank7Account5worthEv(%"struct.bank::Account"* noundef nonnull align 8 dereferenceable(24) %0) unnamed_addr #2 align 2 !dbg !148 {
  %2 = alloca %"struct.bank::Account"*, align 8
  %3 = alloca %"class.bank::Guard", align 8
  store %"struct.bank::Account"* %0, %"struct.bank::Account"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Account"** %2, metadata !149, metadata !DIExpression()), !dbg !150
  %4 = load %"struct.bank::Account"*, %"struct.bank::Account"** %2, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Guard"* %3, metadata !151, metadata !DIExpression()), !dbg !152
  call void @_ZN4bank5GuardC2ERNS_4LockE(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %3, %"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) @_ZN4bankL4lockE), !dbg !152
  %5 = load i32, i32* @_ZN4bank7Account5countE, align 4, !dbg !153
  %6 = add nsw i32 %5, 1, !dbg !153
  store i32 %6, i32* @_ZN4bank7Account5countE, align 4, !dbg !153
  %7 = getelementptr inbounds %"struct.bank::Account", %"struct.bank::Account"* %4, i32 0, i32 2, !dbg !154
  %8 = load i64, i64* %7, align 8, !dbg !154
  %9 = trunc i64 %8 to i32, !dbg !154
  %10 = bitcast %"struct.bank::Account"* %4 to %"struct.bank::Base"*, !dbg !155
  %11 = getelementptr inbounds %"struct.bank::Base", %"struct.bank::Base"* %10, i32 0, i32 1, !dbg !155
  %12 = load i32, i32* %11, align 8, !dbg !155
  %13 = add nsw i32 %9, %12, !dbg !156
  call void @_ZN4bank5GuardD2Ev(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %3) #7, !dbg !157
  ret i32 %13, !dbg !157
}

; Function Attrs: nofree nosync nounwind readnone speculatable willreturn
declare void @llvm.dbg.declare(metadata, metadata, metadata) #3

; Function Attrs: noinline optnone uwtable
define linkonce_odr dso_local void @_ZN4bank5GuardC2ERNS_4LockE(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %0, %"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) %1) unnamed_addr #4 comdat align 2 !dbg !158 {
  %3 = alloca %"class.bank::Guard"*, align 8
  %4 = alloca %"class.bank::Lock"*, align 8
  store %"class.bank::Guard"* %0, %"class.bank::Guard"** %3, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Guard"** %3, metadata !159, metadata !DIExpression()), !dbg !161
  store %"class.bank::Lock"* %1, %"class.bank::Lock"** %4, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Lock"** %4, metadata !162, metadata !DIExpression()), !dbg !163
  %5 = load %"class.bank::Guard"*, %"class.bank::Guard"** %3, align 8
  %6 = getelementptr inbounds %"class.bank::Guard", %"class.bank::Guard"* %5, i32 0, i32 0, !dbg !164
  %7 = load %"class.bank::Lock"*, %"class.bank::Lock"** %4, align 8, !dbg !165
  store %"class.bank::Lock"* %7, %"class.bank::Lock"** %6, align 8, !dbg !164
  %8 = load %"class.bank::Lock"*, %"class.bank::Lock"** %4, align 8, !dbg !166
  call void @_ZN4bank4Lock4takeEv(%"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) %8), !dbg !168
  ret void, !dbg !169
}

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank5GuardD2Ev(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %0) unnamed_addr #1 comdat align 2 personality i8* bitcast (i32 (...)* @__gxx_personality_v0 to i8*) !dbg !170 {
  %2 = alloca %"class.bank::Guard"*, align 8
  store %"class.bank::Guard"* %0, %"class.bank::Guard"** %2, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Guard"** %2, metadata !171, metadata !DIExpression()), !dbg !172
  %3 = load %"class.bank::Guard"*, %"class.bank::Guard"** %2, align 8
  %4 = getelementptr inbounds %"class.bank::Guard", %"class.bank::Guard"* %3, i32 0, i32 0, !dbg !173
  %5 = load %"class.bank::Lock"*, %"class.bank::Lock"** %4, align 8, !dbg !173
  invoke void @_ZN4bank4Lock4giveEv(%"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) %5)
          to label %6 unwind label %7, !dbg !175

6:                                                ; preds = %1
  ret void, !dbg !176

7:                                                ; preds = %1
  %8 = landingpad { i8*, i32 }
          catch i8* null, !dbg !175
  %9 = extractvalue { i8*, i32 } %8, 0, !dbg !175
  call void @__clang_call_terminate(i8* %9) #13, !dbg !175
  unreachable, !dbg !175
}

; Function Attrs: mustprogress noinline optnone uwtable
define dso_local noundef i64 @_ZN4bank5totalEPNS_4BaseEi(%"struct.bank::Base"* noundef %0, i32 noundef %1) #2 personality i8* bitcast (i32 (...)* @__gxx_personality_v0 to i8*) !dbg !177 {
  %3 = alloca %"struct.bank::Base"*, align 8
  %4 = alloca i32, align 4
  %5 = alloca %"class.bank::Guard", align 8
  %6 = alloca i8*, align 8
  %7 = alloca i32, align 4
  %8 = alloca %class.anon, align 1
  store %"struct.bank::Base"* %0, %"struct.bank::Base"** %3, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Base"** %3, metadata !181, metadata !DIExpression()), !dbg !182
  store i32 %1, i32* %4, align 4
  call void @llvm.dbg.declare(metadata i32* %4, metadata !183, metadata !DIExpression()), !dbg !184
  call void @llvm.dbg.declare(metadata %"class.bank::Guard"* %5, metadata !185, metadata !DIExpression()), !dbg !186
  call void @_ZN4bank5GuardC2ERNS_4LockE(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %5, %"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) @_ZN4bankL4lockE), !dbg !186
  %9 = load %"struct.bank::Base"*, %"struct.bank::Base"** %3, align 8, !dbg !187
  %10 = bitcast %"struct.bank::Base"* %9 to i32 (%"struct.bank::Base"*)***, !dbg !189
  %11 = load i32 (%"struct.bank::Base"*)**, i32 (%"struct.bank::Base"*)*** %10, align 8, !dbg !189
  %12 = getelementptr inbounds i32 (%"struct.bank::Base"*)*, i32 (%"struct.bank::Base"*)** %11, i64 0, !dbg !189
  %13 = load i32 (%"struct.bank::Base"*)*, i32 (%"struct.bank::Base"*)** %12, align 8, !dbg !189
  %14 = invoke noundef i32 %13(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %9)
          to label %15 unwind label %22, !dbg !189

15:                                               ; preds = %2
  %16 = load i32, i32* %4, align 4, !dbg !190
  %17 = icmp sgt i32 %14, %16, !dbg !191
  br i1 %17, label %18, label %26, !dbg !192

18:                                               ; preds = %15
  %19 = call i8* @__cxa_allocate_exception(i64 4) #7, !dbg !193
  %20 = bitcast i8* %19 to i32*, !dbg !193
  %21 = load i32, i32* %4, align 4, !dbg !194
  store i32 %21, i32* %20, align 16, !dbg !193
  invoke void @__cxa_throw(i8* %19, i8* bitcast (i8** @_ZTIi to i8*), i8* null) #14
          to label %38 unwind label %22, !dbg !193

22:                                               ; preds = %29, %26, %18, %2
  %23 = landingpad { i8*, i32 }
          cleanup, !dbg !195
  %24 = extractvalue { i8*, i32 } %23, 0, !dbg !195
  store i8* %24, i8** %6, align 8, !dbg !195
  %25 = extractvalue { i8*, i32 } %23, 1, !dbg !195
  store i32 %25, i32* %7, align 4, !dbg !195
  call void @_ZN4bank5GuardD2Ev(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %5) #7, !dbg !196
  br label %33, !dbg !196

26:                                               ; preds = %15
  call void @llvm.dbg.declare(metadata %class.anon* %8, metadata !197, metadata !DIExpression()), !dbg !199
  %27 = load i32, i32* %4, align 4, !dbg !200
  %28 = invoke noundef i32 @"_ZZN4bank5totalEPNS_4BaseEiENK3$_0clEi"(%class.anon* noundef nonnull align 1 dereferenceable(1) %8, i32 noundef %27)
          to label %29 unwind label %22, !dbg !201

29:                                               ; preds = %26
  %30 = sext i32 %28 to i64, !dbg !201
  store i64 %30, i64* getelementptr inbounds (%"struct.bank::(anonymous namespace)::Hidden", %"struct.bank::(anonymous namespace)::Hidden"* @_ZN4bank12_GLOBAL__N_16hiddenE, i32 0, i32 1, i32 1), align 8, !dbg !202
  %31 = invoke noundef i64 @_ZNK4bank4PairIlE3sumEv(%"struct.bank::Pair.0"* noundef nonnull align 8 dereferenceable(16) getelementptr inbounds (%"struct.bank::(anonymous namespace)::Hidden", %"struct.bank::(anonymous namespace)::Hidden"* @_ZN4bank12_GLOBAL__N_16hiddenE, i32 0, i32 1))
          to label %32 unwind label %22, !dbg !203

32:                                               ; preds = %29
  call void @_ZN4bank5GuardD2Ev(%"class.bank::Guard"* noundef nonnull align 8 dereferenceable(8) %5) #7, !dbg !196
  ret i64 %31, !dbg !196

33:                                               ; preds = %22
  %34 = load i8*, i8** %6, align 8, !dbg !196
  %35 = load i32, i32* %7, align 4, !dbg !196
  %36 = insertvalue { i8*, i32 } undef, i8* %34, 0, !dbg !196
  %37 = insertvalue { i8*, i32 } %36, i32 %35, 1, !dbg !196
  resume { i8*, i32 } %37, !dbg !196

38:                                               ; preds = %18
  unreachable
}

declare i32 @__gxx_personality_v0(...)

declare i8* @__cxa_allocate_exception(i64)

declare void @__cxa_throw(i8*, i8*, i8*)

; Function Attrs: mustprogress noinline optnone uwtable
define internal noundef i32 @"_ZZN4bank5totalEPNS_4BaseEiENK3$_0clEi"(%class.anon* noundef nonnull align 1 dereferenceable(1) %0, i32 noundef %1) #2 align 2 !dbg !204 {
  %3 = alloca %class.anon*, align 8
  %4 = alloca i32, align 4
  store %class.anon* %0, %class.anon** %3, align 8
  call void @llvm.dbg.declare(metadata %class.anon** %3, metadata !213, metadata !DIExpression()), !dbg !215
  store i32 %1, i32* %4, align 4
  call void @llvm.dbg.declare(metadata i32* %4, metadata !216, metadata !DIExpression()), !dbg !217
  %5 = load %class.anon*, %class.anon** %3, align 8
  %6 = call noundef i32 @_ZNK4bank4PairIiE3sumEv(%"struct.bank::Pair"* noundef nonnull align 4 dereferenceable(8) getelementptr inbounds (%"struct.bank::(anonymous namespace)::Hidden", %"struct.bank::(anonymous namespace)::Hidden"* @_ZN4bank12_GLOBAL__N_16hiddenE, i32 0, i32 0)), !dbg !218
  %7 = load i32, i32* %4, align 4, !dbg !219
  %8 = add nsw i32 %6, %7, !dbg !220
  ret i32 %8, !dbg !221
}

; Function Attrs: mustprogress noinline nounwind optnone uwtable
define linkonce_odr dso_local noundef i64 @_ZNK4bank4PairIlE3sumEv(%"struct.bank::Pair.0"* noundef nonnull align 8 dereferenceable(16) %0) #5 comdat align 2 !dbg !222 {
  %2 = alloca %"struct.bank::Pair.0"*, align 8
  store %"struct.bank::Pair.0"* %0, %"struct.bank::Pair.0"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Pair.0"** %2, metadata !223, metadata !DIExpression()), !dbg !225
  %3 = load %"struct.bank::Pair.0"*, %"struct.bank::Pair.0"** %2, align 8
  %4 = getelementptr inbounds %"struct.bank::Pair.0", %"struct.bank::Pair.0"* %3, i32 0, i32 0, !dbg !226
  %5 = load i64, i64* %4, align 8, !dbg !226
  %6 = getelementptr inbounds %"struct.bank::Pair.0", %"struct.bank::Pair.0"* %3, i32 0, i32 1, !dbg !227
  %7 = load i64, i64* %6, align 8, !dbg !227
  %8 = add nsw i64 %5, %7, !dbg !228
  ret i64 %8, !dbg !229
}

; Function Attrs: mustprogress noinline norecurse optnone uwtable
define dso_local noundef i32 @main() #6 personality i8* bitcast (i32 (...)* @__gxx_personality_v0 to i8*) !dbg !109 {
  %1 = alloca i32, align 4
  %2 = alloca i8*, align 8
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 0, i32* %1, align 4
  %5 = load atomic i8, i8* bitcast (i64* @_ZGVZ4mainE7account to i8*) acquire, align 8, !dbg !230
  %6 = icmp eq i8 %5, 0, !dbg !230
  br i1 %6, label %7, label %14, !dbg !230, !prof !231

7:                                                ; preds = %0
  %8 = call i32 @__cxa_guard_acquire(i64* @_ZGVZ4mainE7account) #7, !dbg !230
  %9 = icmp ne i32 %8, 0, !dbg !230
  br i1 %9, label %10, label %14, !dbg !230

10:                                               ; preds = %7
  %11 = invoke noalias noundef nonnull i8* @_Znwm(i64 noundef 24) #15
          to label %12 unwind label %21, !dbg !232, !heapallocsite !6

12:                                               ; preds = %10
  %13 = bitcast i8* %11 to %"struct.bank::Account"*, !dbg !232
  call void @_ZN4bank7AccountC2Ev(%"struct.bank::Account"* noundef nonnull align 8 dereferenceable(24) %13) #7, !dbg !233
  store %"struct.bank::Account"* %13, %"struct.bank::Account"** @_ZZ4mainE7account, align 8, !dbg !230
  call void @__cxa_guard_release(i64* @_ZGVZ4mainE7account) #7, !dbg !230
  br label %14, !dbg !230

14:                                               ; preds = %12, %7, %0
  %15 = load %"struct.bank::Account"*, %"struct.bank::Account"** @_ZZ4mainE7account, align 8, !dbg !234
  %16 = bitcast %"struct.bank::Account"* %15 to %"struct.bank::Base"*, !dbg !234
  %17 = invoke noundef i64 @_ZN4bank5totalEPNS_4BaseEi(%"struct.bank::Base"* noundef %16, i32 noundef 3)
          to label %18 unwind label %25, !dbg !236

18:                                               ; preds = %14
  %19 = icmp ne i64 %17, 0, !dbg !237
  %20 = zext i1 %19 to i32, !dbg !236
  store i32 %20, i32* %1, align 4, !dbg !238
  br label %43, !dbg !238

21:                                               ; preds = %10
  %22 = landingpad { i8*, i32 }
          cleanup, !dbg !239
  %23 = extractvalue { i8*, i32 } %22, 0, !dbg !239
  store i8* %23, i8** %2, align 8, !dbg !239
  %24 = extractvalue { i8*, i32 } %22, 1, !dbg !239
  store i32 %24, i32* %3, align 4, !dbg !239
  call void @__cxa_guard_abort(i64* @_ZGVZ4mainE7account) #7, !dbg !230
  br label %45, !dbg !230

25:                                               ; preds = %14
  %26 = landingpad { i8*, i32 }
          catch i8* bitcast (i8** @_ZTIi to i8*), !dbg !240
  %27 = extractvalue { i8*, i32 } %26, 0, !dbg !240
  store i8* %27, i8** %2, align 8, !dbg !240
  %28 = extractvalue { i8*, i32 } %26, 1, !dbg !240
  store i32 %28, i32* %3, align 4, !dbg !240
  br label %29, !dbg !240

29:                                               ; preds = %25
  %30 = load i32, i32* %3, align 4, !dbg !241
  %31 = call i32 @llvm.eh.typeid.for(i8* bitcast (i8** @_ZTIi to i8*)) #7, !dbg !241
  %32 = icmp eq i32 %30, %31, !dbg !241
  br i1 %32, label %33, label %45, !dbg !241

33:                                               ; preds = %29
  call void @llvm.dbg.declare(metadata i32* %4, metadata !242, metadata !DIExpression()), !dbg !243
  %34 = load i8*, i8** %2, align 8, !dbg !241
  %35 = call i8* @__cxa_begin_catch(i8* %34) #7, !dbg !241
  %36 = bitcast i8* %35 to i32*, !dbg !241
  %37 = load i32, i32* %36, align 4, !dbg !241
  store i32 %37, i32* %4, align 4, !dbg !241
  %38 = load i32, i32* %4, align 4, !dbg !244
  %39 = sext i32 %38 to i64, !dbg !244
  %40 = load %"struct.bank::Account"*, %"struct.bank::Account"** @_ZZ4mainE7account, align 8, !dbg !246
  %41 = getelementptr inbounds %"struct.bank::Account", %"struct.bank::Account"* %40, i32 0, i32 2, !dbg !247
  store i64 %39, i64* %41, align 8, !dbg !248
  %42 = load i32, i32* %4, align 4, !dbg !249
  store i32 %42, i32* %1, align 4, !dbg !250
  call void @__cxa_end_catch() #7, !dbg !251
  br label %43

43:                                               ; preds = %18, %33
  %44 = load i32, i32* %1, align 4, !dbg !239
  ret i32 %44, !dbg !239

45:                                               ; preds = %29, %21
  %46 = load i8*, i8** %2, align 8, !dbg !230
  %47 = load i32, i32* %3, align 4, !dbg !230
  %48 = insertvalue { i8*, i32 } undef, i8* %46, 0, !dbg !230
  %49 = insertvalue { i8*, i32 } %48, i32 %47, 1, !dbg !230
  resume { i8*, i32 } %49, !dbg !230
}

; Function Attrs: nounwind
declare i32 @__cxa_guard_acquire(i64*) #7

; Function Attrs: nobuiltin allocsize(0)
declare noundef nonnull i8* @_Znwm(i64 noundef) #8

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank7AccountC2Ev(%"struct.bank::Account"* noundef nonnull align 8 dereferenceable(24) %0) unnamed_addr #1 comdat align 2 !dbg !252 {
  %2 = alloca %"struct.bank::Account"*, align 8
  store %"struct.bank::Account"* %0, %"struct.bank::Account"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Account"** %2, metadata !256, metadata !DIExpression()), !dbg !257
  %3 = load %"struct.bank::Account"*, %"struct.bank::Account"** %2, align 8
  %4 = bitcast %"struct.bank::Account"* %3 to %"struct.bank::Empty"*, !dbg !258
  %5 = bitcast %"struct.bank::Account"* %3 to %"struct.bank::Base"*, !dbg !258
  call void @_ZN4bank4BaseC2Ev(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %5) #7, !dbg !258
  %6 = bitcast %"struct.bank::Account"* %3 to i32 (...)***, !dbg !258
  store i32 (...)** bitcast (i8** getelementptr inbounds ({ [5 x i8*] }, { [5 x i8*] }* @_ZTVN4bank7AccountE, i32 0, inrange i32 0, i32 2) to i32 (...)**), i32 (...)*** %6, align 8, !dbg !258
  %7 = getelementptr inbounds %"struct.bank::Account", %"struct.bank::Account"* %3, i32 0, i32 1, !dbg !259
  store i8 97, i8* %7, align 1, !dbg !259
  %8 = getelementptr inbounds %"struct.bank::Account", %"struct.bank::Account"* %3, i32 0, i32 2, !dbg !260
  store i64 0, i64* %8, align 8, !dbg !260
  ret void, !dbg !258
}

; Function Attrs: nounwind
declare void @__cxa_guard_abort(i64*) #7

; Function Attrs: nounwind
declare void @__cxa_guard_release(i64*) #7

; Function Attrs: nounwind readnone
declare i32 @llvm.eh.typeid.for(i8*) #9

declare i8* @__cxa_begin_catch(i8*)

declare void @__cxa_end_catch()

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank7AccountD2Ev(%"struct.bank::Account"* noundef nonnull align 8 dereferenceable(24) %0) unnamed_addr #1 comdat align 2 !dbg !261 {
  %2 = alloca %"struct.bank::Account"*, align 8
  store %"struct.bank::Account"* %0, %"struct.bank::Account"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Account"** %2, metadata !263, metadata !DIExpression()), !dbg !264
  %3 = load %"struct.bank::Account"*, %"struct.bank::Account"** %2, align 8
  %4 = bitcast %"struct.bank::Account"* %3 to %"struct.bank::Base"*, !dbg !265
  call void @_ZN4bank4BaseD2Ev(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %4) #7, !dbg !265
  ret void, !dbg !267
}

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank7AccountD0Ev(%"struct.bank::Account"* noundef nonnull align 8 dereferenceable(24) %0) unnamed_addr #1 comdat align 2 !dbg !268 {
  %2 = alloca %"struct.bank::Account"*, align 8
  store %"struct.bank::Account"* %0, %"struct.bank::Account"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Account"** %2, metadata !269, metadata !DIExpression()), !dbg !270
  %3 = load %"struct.bank::Account"*, %"struct.bank::Account"** %2, align 8
  call void @_ZN4bank7AccountD2Ev(%"struct.bank::Account"* noundef nonnull align 8 dereferenceable(24) %3) #7, !dbg !271
  %4 = bitcast %"struct.bank::Account"* %3 to i8*, !dbg !271
  call void @_ZdlPv(i8* noundef %4) #16, !dbg !271
  ret void, !dbg !271
}

; Function Attrs: nounwind
declare i32 @pthread_mutex_init(%union.pthread_mutex_t* noundef, %union.pthread_mutexattr_t* noundef) #10

; Function Attrs: mustprogress noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank4Lock4takeEv(%"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) %0) #5 comdat align 2 !dbg !272 {
  %2 = alloca %"class.bank::Lock"*, align 8
  store %"class.bank::Lock"* %0, %"class.bank::Lock"** %2, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Lock"** %2, metadata !273, metadata !DIExpression()), !dbg !274
  %3 = load %"class.bank::Lock"*, %"class.bank::Lock"** %2, align 8
  %4 = getelementptr inbounds %"class.bank::Lock", %"class.bank::Lock"* %3, i32 0, i32 0, !dbg !275
  %5 = call i32 @pthread_mutex_lock(%union.pthread_mutex_t* noundef %4) #7, !dbg !276
  ret void, !dbg !277
}

; Function Attrs: nounwind
declare i32 @pthread_mutex_lock(%union.pthread_mutex_t* noundef) #10

; Function Attrs: mustprogress noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank4Lock4giveEv(%"class.bank::Lock"* noundef nonnull align 8 dereferenceable(40) %0) #5 comdat align 2 !dbg !278 {
  %2 = alloca %"class.bank::Lock"*, align 8
  store %"class.bank::Lock"* %0, %"class.bank::Lock"** %2, align 8
  call void @llvm.dbg.declare(metadata %"class.bank::Lock"** %2, metadata !279, metadata !DIExpression()), !dbg !280
  %3 = load %"class.bank::Lock"*, %"class.bank::Lock"** %2, align 8
  %4 = getelementptr inbounds %"class.bank::Lock", %"class.bank::Lock"* %3, i32 0, i32 0, !dbg !281
  %5 = call i32 @pthread_mutex_unlock(%union.pthread_mutex_t* noundef %4) #7, !dbg !282
  ret void, !dbg !283
}

; Function Attrs: noinline noreturn nounwind
define linkonce_odr hidden void @__clang_call_terminate(i8* %0) #11 comdat {
  %2 = call i8* @__cxa_begin_catch(i8* %0) #7
  call void @_ZSt9terminatev() #13
  unreachable
}

declare void @_ZSt9terminatev()

; Function Attrs: nounwind
declare i32 @pthread_mutex_unlock(%union.pthread_mutex_t* noundef) #10

; Function Attrs: mustprogress noinline nounwind optnone uwtable
define linkonce_odr dso_local noundef i32 @_ZNK4bank4PairIiE3sumEv(%"struct.bank::Pair"* noundef nonnull align 4 dereferenceable(8) %0) #5 comdat align 2 !dbg !284 {
  %2 = alloca %"struct.bank::Pair"*, align 8
  store %"struct.bank::Pair"* %0, %"struct.bank::Pair"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Pair"** %2, metadata !285, metadata !DIExpression()), !dbg !287
  %3 = load %"struct.bank::Pair"*, %"struct.bank::Pair"** %2, align 8
  %4 = getelementptr inbounds %"struct.bank::Pair", %"struct.bank::Pair"* %3, i32 0, i32 0, !dbg !288
  %5 = load i32, i32* %4, align 4, !dbg !288
  %6 = getelementptr inbounds %"struct.bank::Pair", %"struct.bank::Pair"* %3, i32 0, i32 1, !dbg !289
  %7 = load i32, i32* %6, align 4, !dbg !289
  %8 = add nsw i32 %5, %7, !dbg !290
  ret i32 %8, !dbg !291
}

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank4BaseC2Ev(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %0) unnamed_addr #1 comdat align 2 !dbg !292 {
  %2 = alloca %"struct.bank::Base"*, align 8
  store %"struct.bank::Base"* %0, %"struct.bank::Base"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Base"** %2, metadata !294, metadata !DIExpression()), !dbg !295
  %3 = load %"struct.bank::Base"*, %"struct.bank::Base"** %2, align 8
  %4 = bitcast %"struct.bank::Base"* %3 to i32 (...)***, !dbg !296
  store i32 (...)** bitcast (i8** getelementptr inbounds ({ [5 x i8*] }, { [5 x i8*] }* @_ZTVN4bank4BaseE, i32 0, inrange i32 0, i32 2) to i32 (...)**), i32 (...)*** %4, align 8, !dbg !296
  %5 = getelementptr inbounds %"struct.bank::Base", %"struct.bank::Base"* %3, i32 0, i32 1, !dbg !297
  store i32 0, i32* %5, align 8, !dbg !297
  %6 = getelementptr inbounds %"struct.bank::Base", %"struct.bank::Base"* %3, i32 0, i32 2, !dbg !298
  store i8 0, i8* %6, align 4, !dbg !298
  ret void, !dbg !296
}

; Function Attrs: mustprogress noinline nounwind optnone uwtable
define linkonce_odr dso_local noundef i32 @_ZN4bank4Base5worthEv(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %0) unnamed_addr #5 comdat align 2 !dbg !299 {
  %2 = alloca %"struct.bank::Base"*, align 8
  store %"struct.bank::Base"* %0, %"struct.bank::Base"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Base"** %2, metadata !300, metadata !DIExpression()), !dbg !301
  %3 = load %"struct.bank::Base"*, %"struct.bank::Base"** %2, align 8
  %4 = getelementptr inbounds %"struct.bank::Base", %"struct.bank::Base"* %3, i32 0, i32 1, !dbg !302
  %5 = load i32, i32* %4, align 8, !dbg !302
  ret i32 %5, !dbg !303
}

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank4BaseD2Ev(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %0) unnamed_addr #1 comdat align 2 !dbg !304 {
  %2 = alloca %"struct.bank::Base"*, align 8
  store %"struct.bank::Base"* %0, %"struct.bank::Base"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Base"** %2, metadata !305, metadata !DIExpression()), !dbg !306
  %3 = load %"struct.bank::Base"*, %"struct.bank::Base"** %2, align 8
  ret void, !dbg !307
}

; Function Attrs: noinline nounwind optnone uwtable
define linkonce_odr dso_local void @_ZN4bank4BaseD0Ev(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %0) unnamed_addr #1 comdat align 2 !dbg !308 {
  %2 = alloca %"struct.bank::Base"*, align 8
  store %"struct.bank::Base"* %0, %"struct.bank::Base"** %2, align 8
  call void @llvm.dbg.declare(metadata %"struct.bank::Base"** %2, metadata !309, metadata !DIExpression()), !dbg !310
  %3 = load %"struct.bank::Base"*, %"struct.bank::Base"** %2, align 8
  call void @_ZN4bank4BaseD2Ev(%"struct.bank::Base"* noundef nonnull align 8 dereferenceable(13) %3) #7, !dbg !311
  %4 = bitcast %"struct.bank::Base"* %3 to i8*, !dbg !311
  call void @_ZdlPv(i8* noundef %4) #16, !dbg !311
  ret void, !dbg !312
}

; Function Attrs: nobuiltin nounwind
declare void @_ZdlPv(i8* noundef) #12

; Function Attrs: noinline uwtable
define internal void @_GLOBAL__sub_I_bank.cc() #0 section ".text.startup" !dbg !313 {
  call void @__cxx_global_var_init(), !dbg !315
  ret void
}

attributes #0 = { noinline uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #2 = { mustprogress noinline optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #3 = { nofree nosync nounwind readnone speculatable willreturn }
attributes #4 = { noinline optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #5 = { mustprogress noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #6 = { mustprogress noinline norecurse optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #7 = { nounwind }
attributes #8 = { nobuiltin allocsize(0) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #9 = { nounwind readnone }
attributes #10 = { nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #11 = { noinline noreturn nounwind }
attributes #12 = { nobuiltin nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #13 = { noreturn nounwind }
attributes #14 = { noreturn }
attributes #15 = { builtin allocsize(0) }
attributes #16 = { builtin nounwind }

!llvm.dbg.cu = !{!110}
!llvm.module.flags = !{!125, !126, !127, !128, !129, !130, !131}
!llvm.ident = !{!132}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "count", linkageName: "_ZN4bank7Account5countE", scope: !2, file: !3, line: 44, type: !4, isLocal: false, isDefinition: true, declaration: !5)
!2 = !DINamespace(name: "bank", scope: null)
!3 = !DIFile(filename: "bank.cc", directory: ".", checksumkind: CSK_MD5, checksum: "ceaf66a7b9dad97b26ec0fd2f2ef39af")
!4 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!5 = !DIDerivedType(tag: DW_TAG_member, name: "count", scope: !6, file: !3, line: 35, baseType: !4, flags: DIFlagStaticMember)
!6 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Account", scope: !2, file: !3, line: 32, size: 192, flags: DIFlagTypePassByReference | DIFlagNonTrivial, elements: !7, vtableHolder: !12)
!7 = !{!8, !11, !29, !31, !5, !33}
!8 = !DIDerivedType(tag: DW_TAG_inheritance, scope: !6, baseType: !9, extraData: i32 0)
!9 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Empty", scope: !2, file: !3, line: 23, size: 8, flags: DIFlagTypePassByValue, elements: !10, identifier: "_ZTSN4bank5EmptyE")
!10 = !{}
!11 = !DIDerivedType(tag: DW_TAG_inheritance, scope: !6, baseType: !12, extraData: i32 0)
!12 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Base", scope: !2, file: !3, line: 25, size: 128, flags: DIFlagTypePassByReference | DIFlagNonTrivial, elements: !13, vtableHolder: !12, identifier: "_ZTSN4bank4BaseE")
!13 = !{!14, !19, !20, !22, !26}
!14 = !DIDerivedType(tag: DW_TAG_member, name: "_vptr$Base", scope: !3, file: !3, baseType: !15, size: 64, flags: DIFlagArtificial)
!15 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !16, size: 64)
!16 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "__vtbl_ptr_type", baseType: !17, size: 64)
!17 = !DISubroutineType(types: !18)
!18 = !{!4}
!19 = !DIDerivedType(tag: DW_TAG_member, name: "id", scope: !12, file: !3, line: 26, baseType: !4, size: 32, offset: 64)
!20 = !DIDerivedType(tag: DW_TAG_member, name: "used", scope: !12, file: !3, line: 27, baseType: !21, size: 8, offset: 96)
!21 = !DIBasicType(name: "bool", size: 8, encoding: DW_ATE_boolean)
!22 = !DISubprogram(name: "worth", linkageName: "_ZN4bank4Base5worthEv", scope: !12, file: !3, line: 28, type: !23, scopeLine: 28, containingType: !12, virtualIndex: 0, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual)
!23 = !DISubroutineType(types: !24)
!24 = !{!4, !25}
!25 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !12, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!26 = !DISubprogram(name: "~Base", scope: !12, file: !3, line: 29, type: !27, scopeLine: 29, containingType: !12, virtualIndex: 0, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual)
!27 = !DISubroutineType(types: !28)
!28 = !{null, !25}
!29 = !DIDerivedType(tag: DW_TAG_member, name: "kind", scope: !6, file: !3, line: 33, baseType: !30, size: 8, offset: 104)
!30 = !DIBasicType(name: "char", size: 8, encoding: DW_ATE_signed_char)
!31 = !DIDerivedType(tag: DW_TAG_member, name: "balance", scope: !6, file: !3, line: 34, baseType: !32, size: 64, offset: 128)
!32 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
!33 = !DISubprogram(name: "worth", linkageName: "_ZN4bank7Account5worthEv", scope: !6, file: !3, line: 36, type: !34, scopeLine: 36, containingType: !6, virtualIndex: 0, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual)
!34 = !DISubroutineType(types: !35)
!35 = !{!4, !36}
!36 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !6, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!37 = !DIGlobalVariableExpression(var: !38, expr: !DIExpression())
!38 = distinct !DIGlobalVariable(name: "lock", linkageName: "_ZN4bankL4lockE", scope: !2, file: !3, line: 45, type: !39, isLocal: true, isDefinition: true)
!39 = distinct !DICompositeType(tag: DW_TAG_class_type, name: "Lock", scope: !2, file: !3, line: 6, size: 320, flags: DIFlagTypePassByValue | DIFlagNonTrivial, elements: !40, identifier: "_ZTSN4bank4LockE")
!40 = !{!41, !72, !76, !77}
!41 = !DIDerivedType(tag: DW_TAG_member, name: "mutex", scope: !39, file: !3, line: 7, baseType: !42, size: 320)
!42 = !DIDerivedType(tag: DW_TAG_typedef, name: "pthread_mutex_t", file: !43, line: 72, baseType: !44)
!43 = !DIFile(filename: "/usr/include/x86_64-linux-gnu/bits/pthreadtypes.h", directory: "", checksumkind: CSK_MD5, checksum: "735e3bf264ff9d8f5d95898b1692fbdb")
!44 = distinct !DICompositeType(tag: DW_TAG_union_type, file: !43, line: 67, size: 320, flags: DIFlagTypePassByValue, elements: !45, identifier: "_ZTS15pthread_mutex_t")
!45 = !{!46, !67, !71}
!46 = !DIDerivedType(tag: DW_TAG_member, name: "__data", scope: !44, file: !43, line: 69, baseType: !47, size: 320)
!47 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "__pthread_mutex_s", file: !48, line: 22, size: 320, flags: DIFlagTypePassByValue, elements: !49, identifier: "_ZTS17__pthread_mutex_s")
!48 = !DIFile(filename: "/usr/include/x86_64-linux-gnu/bits/struct_mutex.h", directory: "", checksumkind: CSK_MD5, checksum: "584baedd80e6041b81caae7f496091c0")
!49 = !{!50, !51, !53, !54, !55, !56, !58, !59}
!50 = !DIDerivedType(tag: DW_TAG_member, name: "__lock", scope: !47, file: !48, line: 24, baseType: !4, size: 32)
!51 = !DIDerivedType(tag: DW_TAG_member, name: "__count", scope: !47, file: !48, line: 25, baseType: !52, size: 32, offset: 32)
!52 = !DIBasicType(name: "unsigned int", size: 32, encoding: DW_ATE_unsigned)
!53 = !DIDerivedType(tag: DW_TAG_member, name: "__owner", scope: !47, file: !48, line: 26, baseType: !4, size: 32, offset: 64)
!54 = !DIDerivedType(tag: DW_TAG_member, name: "__nusers", scope: !47, file: !48, line: 28, baseType: !52, size: 32, offset: 96)
!55 = !DIDerivedType(tag: DW_TAG_member, name: "__kind", scope: !47, file: !48, line: 32, baseType: !4, size: 32, offset: 128)
!56 = !DIDerivedType(tag: DW_TAG_member, name: "__spins", scope: !47, file: !48, line: 34, baseType: !57, size: 16, offset: 160)
!57 = !DIBasicType(name: "short", size: 16, encoding: DW_ATE_signed)
!58 = !DIDerivedType(tag: DW_TAG_member, name: "__elision", scope: !47, file: !48, line: 35, baseType: !57, size: 16, offset: 176)
!59 = !DIDerivedType(tag: DW_TAG_member, name: "__list", scope: !47, file: !48, line: 36, baseType: !60, size: 128, offset: 192)
!60 = !DIDerivedType(tag: DW_TAG_typedef, name: "__pthread_list_t", file: !61, line: 55, baseType: !62)
!61 = !DIFile(filename: "/usr/include/x86_64-linux-gnu/bits/thread-shared-types.h", directory: "", checksumkind: CSK_MD5, checksum: "04c81e86d34dad9c99ad006d32e47a0d")
!62 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "__pthread_internal_list", file: !61, line: 51, size: 128, flags: DIFlagTypePassByValue, elements: !63, identifier: "_ZTS23__pthread_internal_list")
!63 = !{!64, !66}
!64 = !DIDerivedType(tag: DW_TAG_member, name: "__prev", scope: !62, file: !61, line: 53, baseType: !65, size: 64)
!65 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !62, size: 64)
!66 = !DIDerivedType(tag: DW_TAG_member, name: "__next", scope: !62, file: !61, line: 54, baseType: !65, size: 64, offset: 64)
!67 = !DIDerivedType(tag: DW_TAG_member, name: "__size", scope: !44, file: !43, line: 70, baseType: !68, size: 320)
!68 = !DICompositeType(tag: DW_TAG_array_type, baseType: !30, size: 320, elements: !69)
!69 = !{!70}
!70 = !DISubrange(count: 40)
!71 = !DIDerivedType(tag: DW_TAG_member, name: "__align", scope: !44, file: !43, line: 71, baseType: !32, size: 64)
!72 = !DISubprogram(name: "Lock", scope: !39, file: !3, line: 10, type: !73, scopeLine: 10, flags: DIFlagPublic | DIFlagPrototyped, spFlags: 0)
!73 = !DISubroutineType(types: !74)
!74 = !{null, !75}
!75 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !39, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!76 = !DISubprogram(name: "take", linkageName: "_ZN4bank4Lock4takeEv", scope: !39, file: !3, line: 11, type: !73, scopeLine: 11, flags: DIFlagPublic | DIFlagPrototyped, spFlags: 0)
!77 = !DISubprogram(name: "give", linkageName: "_ZN4bank4Lock4giveEv", scope: !39, file: !3, line: 12, type: !73, scopeLine: 12, flags: DIFlagPublic | DIFlagPrototyped, spFlags: 0)
!78 = !DIGlobalVariableExpression(var: !79, expr: !DIExpression())
!79 = distinct !DIGlobalVariable(name: "hidden", linkageName: "_ZN4bank12_GLOBAL__N_16hiddenE", scope: !80, file: !3, line: 57, type: !81, isLocal: true, isDefinition: true)
!80 = !DINamespace(scope: !2)
!81 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Hidden", scope: !80, file: !3, line: 54, size: 192, flags: DIFlagTypePassByValue, elements: !82)
!82 = !{!83, !95}
!83 = !DIDerivedType(tag: DW_TAG_member, name: "small", scope: !81, file: !3, line: 55, baseType: !84, size: 64)
!84 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Pair<int>", scope: !2, file: !3, line: 39, size: 64, flags: DIFlagTypePassByValue, elements: !85, templateParams: !93, identifier: "_ZTSN4bank4PairIiEE")
!85 = !{!86, !87, !88}
!86 = !DIDerivedType(tag: DW_TAG_member, name: "first", scope: !84, file: !3, line: 40, baseType: !4, size: 32)
!87 = !DIDerivedType(tag: DW_TAG_member, name: "second", scope: !84, file: !3, line: 40, baseType: !4, size: 32, offset: 32)
!88 = !DISubprogram(name: "sum", linkageName: "_ZNK4bank4PairIiE3sumEv", scope: !84, file: !3, line: 41, type: !89, scopeLine: 41, flags: DIFlagPrototyped, spFlags: 0)
!89 = !DISubroutineType(types: !90)
!90 = !{!4, !91}
!91 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !92, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!92 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !84)
!93 = !{!94}
!94 = !DITemplateTypeParameter(name: "T", type: !4)
!95 = !DIDerivedType(tag: DW_TAG_member, name: "large", scope: !81, file: !3, line: 56, baseType: !96, size: 128, offset: 64)
!96 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Pair<long>", scope: !2, file: !3, line: 39, size: 128, flags: DIFlagTypePassByValue, elements: !97, templateParams: !105, identifier: "_ZTSN4bank4PairIlEE")
!97 = !{!98, !99, !100}
!98 = !DIDerivedType(tag: DW_TAG_member, name: "first", scope: !96, file: !3, line: 40, baseType: !32, size: 64)
!99 = !DIDerivedType(tag: DW_TAG_member, name: "second", scope: !96, file: !3, line: 40, baseType: !32, size: 64, offset: 64)
!100 = !DISubprogram(name: "sum", linkageName: "_ZNK4bank4PairIlE3sumEv", scope: !96, file: !3, line: 41, type: !101, scopeLine: 41, flags: DIFlagPrototyped, spFlags: 0)
!101 = !DISubroutineType(types: !102)
!102 = !{!32, !103}
!103 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !104, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!104 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !96)
!105 = !{!106}
!106 = !DITemplateTypeParameter(name: "T", type: !32)
!107 = !DIGlobalVariableExpression(var: !108, expr: !DIExpression())
!108 = distinct !DIGlobalVariable(name: "account", scope: !109, file: !3, line: 71, type: !124, isLocal: true, isDefinition: true)
!109 = distinct !DISubprogram(name: "main", scope: !3, file: !3, line: 70, type: !17, scopeLine: 70, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, retainedNodes: !10)
!110 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, producer: "Debian clang version 14.0.6", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, retainedTypes: !111, globals: !123, splitDebugInlining: false, nameTableKind: None)
!111 = !{!4, !39, !112, !6, !12}
!112 = distinct !DICompositeType(tag: DW_TAG_class_type, name: "Guard", scope: !2, file: !3, line: 15, size: 64, flags: DIFlagTypePassByReference | DIFlagNonTrivial, elements: !113, identifier: "_ZTSN4bank5GuardE")
!113 = !{!114, !116, !120}
!114 = !DIDerivedType(tag: DW_TAG_member, name: "lock", scope: !112, file: !3, line: 16, baseType: !115, size: 64)
!115 = !DIDerivedType(tag: DW_TAG_reference_type, baseType: !39, size: 64)
!116 = !DISubprogram(name: "Guard", scope: !112, file: !3, line: 19, type: !117, scopeLine: 19, flags: DIFlagPublic | DIFlagExplicit | DIFlagPrototyped, spFlags: 0)
!117 = !DISubroutineType(types: !118)
!118 = !{null, !119, !115}
!119 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !112, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!120 = !DISubprogram(name: "~Guard", scope: !112, file: !3, line: 20, type: !121, scopeLine: 20, flags: DIFlagPublic | DIFlagPrototyped, spFlags: 0)
!121 = !DISubroutineType(types: !122)
!122 = !{null, !119}
!123 = !{!0, !37, !107, !78}
!124 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !6, size: 64)
!125 = !{i32 7, !"Dwarf Version", i32 5}
!126 = !{i32 2, !"Debug Info Version", i32 3}
!127 = !{i32 1, !"wchar_size", i32 4}
!128 = !{i32 7, !"PIC Level", i32 2}
!129 = !{i32 7, !"PIE Level", i32 2}
!130 = !{i32 7, !"uwtable", i32 1}
!131 = !{i32 7, !"frame-pointer", i32 2}
!132 = !{!"Debian clang version 14.0.6"}
!133 = distinct !DISubprogram(name: "__cxx_global_var_init", scope: !134, file: !134, type: !135, flags: DIFlagArtificial, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !110, retainedNodes: !10)
!134 = !DIFile(filename: "bank.cc", directory: ".")
!135 = !DISubroutineType(types: !136)
!136 = !{null}
!137 = !DILocation(line: 45, column: 13, scope: !138)
!138 = !DILexicalBlockFile(scope: !133, file: !3, discriminator: 0)
!139 = distinct !DISubprogram(name: "Lock", linkageName: "_ZN4bank4LockC2Ev", scope: !39, file: !3, line: 10, type: !73, scopeLine: 10, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !72, retainedNodes: !10)
!140 = !DILocalVariable(name: "this", arg: 1, scope: !139, type: !141, flags: DIFlagArtificial | DIFlagObjectPointer)
!141 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !39, size: 64)
!142 = !DILocation(line: 0, scope: !139)
!143 = !DILocation(line: 10, column: 5, scope: !139)
!144 = !DILocation(line: 10, column: 34, scope: !145)
!145 = distinct !DILexicalBlock(scope: !139, file: !3, line: 10, column: 12)
!146 = !DILocation(line: 10, column: 14, scope: !145)
!147 = !DILocation(line: 10, column: 51, scope: !139)
!148 = distinct !DISubprogram(name: "worth", linkageName: "_ZN4bank7Account5worthEv", scope: !6, file: !3, line: 47, type: !34, scopeLine: 47, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !33, retainedNodes: !10)
!149 = !DILocalVariable(name: "this", arg: 1, scope: !148, type: !124, flags: DIFlagArtificial | DIFlagObjectPointer)
!150 = !DILocation(line: 0, scope: !148)
!151 = !DILocalVariable(name: "guard", scope: !148, file: !3, line: 48, type: !112)
!152 = !DILocation(line: 48, column: 11, scope: !148)
!153 = !DILocation(line: 49, column: 10, scope: !148)
!154 = !DILocation(line: 50, column: 29, scope: !148)
!155 = !DILocation(line: 50, column: 40, scope: !148)
!156 = !DILocation(line: 50, column: 38, scope: !148)
!157 = !DILocation(line: 51, column: 1, scope: !148)
!158 = distinct !DISubprogram(name: "Guard", linkageName: "_ZN4bank5GuardC2ERNS_4LockE", scope: !112, file: !3, line: 19, type: !117, scopeLine: 19, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !116, retainedNodes: !10)
!159 = !DILocalVariable(name: "this", arg: 1, scope: !158, type: !160, flags: DIFlagArtificial | DIFlagObjectPointer)
!160 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !112, size: 64)
!161 = !DILocation(line: 0, scope: !158)
!162 = !DILocalVariable(name: "lock", arg: 2, scope: !158, file: !3, line: 19, type: !115)
!163 = !DILocation(line: 19, column: 26, scope: !158)
!164 = !DILocation(line: 19, column: 34, scope: !158)
!165 = !DILocation(line: 19, column: 39, scope: !158)
!166 = !DILocation(line: 19, column: 47, scope: !167)
!167 = distinct !DILexicalBlock(scope: !158, file: !3, line: 19, column: 45)
!168 = !DILocation(line: 19, column: 52, scope: !167)
!169 = !DILocation(line: 19, column: 60, scope: !158)
!170 = distinct !DISubprogram(name: "~Guard", linkageName: "_ZN4bank5GuardD2Ev", scope: !112, file: !3, line: 20, type: !121, scopeLine: 20, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !120, retainedNodes: !10)
!171 = !DILocalVariable(name: "this", arg: 1, scope: !170, type: !160, flags: DIFlagArtificial | DIFlagObjectPointer)
!172 = !DILocation(line: 0, scope: !170)
!173 = !DILocation(line: 20, column: 16, scope: !174)
!174 = distinct !DILexicalBlock(scope: !170, file: !3, line: 20, column: 14)
!175 = !DILocation(line: 20, column: 21, scope: !174)
!176 = !DILocation(line: 20, column: 29, scope: !170)
!177 = distinct !DISubprogram(name: "total", linkageName: "_ZN4bank5totalEPNS_4BaseEi", scope: !2, file: !3, line: 60, type: !178, scopeLine: 60, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, retainedNodes: !10)
!178 = !DISubroutineType(types: !179)
!179 = !{!32, !180, !4}
!180 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !12, size: 64)
!181 = !DILocalVariable(name: "base", arg: 1, scope: !177, file: !3, line: 60, type: !180)
!182 = !DILocation(line: 60, column: 18, scope: !177)
!183 = !DILocalVariable(name: "limit", arg: 2, scope: !177, file: !3, line: 60, type: !4)
!184 = !DILocation(line: 60, column: 28, scope: !177)
!185 = !DILocalVariable(name: "guard", scope: !177, file: !3, line: 61, type: !112)
!186 = !DILocation(line: 61, column: 11, scope: !177)
!187 = !DILocation(line: 62, column: 9, scope: !188)
!188 = distinct !DILexicalBlock(scope: !177, file: !3, line: 62, column: 9)
!189 = !DILocation(line: 62, column: 15, scope: !188)
!190 = !DILocation(line: 62, column: 25, scope: !188)
!191 = !DILocation(line: 62, column: 23, scope: !188)
!192 = !DILocation(line: 62, column: 9, scope: !177)
!193 = !DILocation(line: 62, column: 32, scope: !188)
!194 = !DILocation(line: 62, column: 38, scope: !188)
!195 = !DILocation(line: 66, column: 1, scope: !188)
!196 = !DILocation(line: 66, column: 1, scope: !177)
!197 = !DILocalVariable(name: "next", scope: !177, file: !3, line: 63, type: !198)
!198 = distinct !DICompositeType(tag: DW_TAG_class_type, scope: !177, file: !3, line: 63, size: 8, flags: DIFlagTypePassByValue | DIFlagNonTrivial, elements: !10)
!199 = !DILocation(line: 63, column: 10, scope: !177)
!200 = !DILocation(line: 64, column: 32, scope: !177)
!201 = !DILocation(line: 64, column: 27, scope: !177)
!202 = !DILocation(line: 64, column: 25, scope: !177)
!203 = !DILocation(line: 65, column: 25, scope: !177)
!204 = distinct !DISubprogram(name: "operator()", linkageName: "_ZZN4bank5totalEPNS_4BaseEiENK3$_0clEi", scope: !198, file: !3, line: 63, type: !205, scopeLine: 63, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !110, declaration: !209, retainedNodes: !10)
!205 = !DISubroutineType(types: !206)
!206 = !{!4, !207, !4}
!207 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !208, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!208 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !198)
!209 = !DISubprogram(name: "operator()", scope: !198, file: !3, line: 63, type: !210, scopeLine: 63, flags: DIFlagPublic | DIFlagPrototyped, spFlags: DISPFlagLocalToUnit)
!210 = !DISubroutineType(types: !211)
!211 = !{!212, !207, !4}
!212 = !DIBasicType(tag: DW_TAG_unspecified_type, name: "auto")
!213 = !DILocalVariable(name: "this", arg: 1, scope: !204, type: !214, flags: DIFlagArtificial | DIFlagObjectPointer)
!214 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !208, size: 64)
!215 = !DILocation(line: 0, scope: !204)
!216 = !DILocalVariable(name: "by", arg: 2, scope: !204, file: !3, line: 63, type: !4)
!217 = !DILocation(line: 63, column: 25, scope: !204)
!218 = !DILocation(line: 63, column: 51, scope: !204)
!219 = !DILocation(line: 63, column: 59, scope: !204)
!220 = !DILocation(line: 63, column: 57, scope: !204)
!221 = !DILocation(line: 63, column: 31, scope: !204)
!222 = distinct !DISubprogram(name: "sum", linkageName: "_ZNK4bank4PairIlE3sumEv", scope: !96, file: !3, line: 41, type: !101, scopeLine: 41, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !100, retainedNodes: !10)
!223 = !DILocalVariable(name: "this", arg: 1, scope: !222, type: !224, flags: DIFlagArtificial | DIFlagObjectPointer)
!224 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !104, size: 64)
!225 = !DILocation(line: 0, scope: !222)
!226 = !DILocation(line: 41, column: 28, scope: !222)
!227 = !DILocation(line: 41, column: 36, scope: !222)
!228 = !DILocation(line: 41, column: 34, scope: !222)
!229 = !DILocation(line: 41, column: 21, scope: !222)
!230 = !DILocation(line: 71, column: 5, scope: !109)
!231 = !{!"branch_weights", i32 1, i32 1048575}
!232 = !DILocation(line: 71, column: 37, scope: !109)
!233 = !DILocation(line: 71, column: 41, scope: !109)
!234 = !DILocation(line: 73, column: 28, scope: !235)
!235 = distinct !DILexicalBlock(scope: !109, file: !3, line: 72, column: 9)
!236 = !DILocation(line: 73, column: 16, scope: !235)
!237 = !DILocation(line: 73, column: 40, scope: !235)
!238 = !DILocation(line: 73, column: 9, scope: !235)
!239 = !DILocation(line: 78, column: 1, scope: !109)
!240 = !DILocation(line: 78, column: 1, scope: !235)
!241 = !DILocation(line: 74, column: 5, scope: !235)
!242 = !DILocalVariable(name: "limit", scope: !109, file: !3, line: 74, type: !4)
!243 = !DILocation(line: 74, column: 18, scope: !109)
!244 = !DILocation(line: 75, column: 28, scope: !245)
!245 = distinct !DILexicalBlock(scope: !109, file: !3, line: 74, column: 25)
!246 = !DILocation(line: 75, column: 9, scope: !245)
!247 = !DILocation(line: 75, column: 18, scope: !245)
!248 = !DILocation(line: 75, column: 26, scope: !245)
!249 = !DILocation(line: 76, column: 16, scope: !245)
!250 = !DILocation(line: 76, column: 9, scope: !245)
!251 = !DILocation(line: 77, column: 5, scope: !245)
!252 = distinct !DISubprogram(name: "Account", linkageName: "_ZN4bank7AccountC2Ev", scope: !6, file: !3, line: 32, type: !253, scopeLine: 32, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !255, retainedNodes: !10)
!253 = !DISubroutineType(types: !254)
!254 = !{null, !36}
!255 = !DISubprogram(name: "Account", scope: !6, type: !253, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: 0)
!256 = !DILocalVariable(name: "this", arg: 1, scope: !252, type: !124, flags: DIFlagArtificial | DIFlagObjectPointer)
!257 = !DILocation(line: 0, scope: !252)
!258 = !DILocation(line: 32, column: 8, scope: !252)
!259 = !DILocation(line: 33, column: 10, scope: !252)
!260 = !DILocation(line: 34, column: 10, scope: !252)
!261 = distinct !DISubprogram(name: "~Account", linkageName: "_ZN4bank7AccountD2Ev", scope: !6, file: !3, line: 32, type: !253, scopeLine: 32, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !262, retainedNodes: !10)
!262 = !DISubprogram(name: "~Account", scope: !6, type: !253, containingType: !6, virtualIndex: 0, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagVirtual)
!263 = !DILocalVariable(name: "this", arg: 1, scope: !261, type: !124, flags: DIFlagArtificial | DIFlagObjectPointer)
!264 = !DILocation(line: 0, scope: !261)
!265 = !DILocation(line: 32, column: 8, scope: !266)
!266 = distinct !DILexicalBlock(scope: !261, file: !3, line: 32, column: 8)
!267 = !DILocation(line: 32, column: 8, scope: !261)
!268 = distinct !DISubprogram(name: "~Account", linkageName: "_ZN4bank7AccountD0Ev", scope: !6, file: !3, line: 32, type: !253, scopeLine: 32, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !262, retainedNodes: !10)
!269 = !DILocalVariable(name: "this", arg: 1, scope: !268, type: !124, flags: DIFlagArtificial | DIFlagObjectPointer)
!270 = !DILocation(line: 0, scope: !268)
!271 = !DILocation(line: 32, column: 8, scope: !268)
!272 = distinct !DISubprogram(name: "take", linkageName: "_ZN4bank4Lock4takeEv", scope: !39, file: !3, line: 11, type: !73, scopeLine: 11, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !76, retainedNodes: !10)
!273 = !DILocalVariable(name: "this", arg: 1, scope: !272, type: !141, flags: DIFlagArtificial | DIFlagObjectPointer)
!274 = !DILocation(line: 0, scope: !272)
!275 = !DILocation(line: 11, column: 39, scope: !272)
!276 = !DILocation(line: 11, column: 19, scope: !272)
!277 = !DILocation(line: 11, column: 47, scope: !272)
!278 = distinct !DISubprogram(name: "give", linkageName: "_ZN4bank4Lock4giveEv", scope: !39, file: !3, line: 12, type: !73, scopeLine: 12, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !77, retainedNodes: !10)
!279 = !DILocalVariable(name: "this", arg: 1, scope: !278, type: !141, flags: DIFlagArtificial | DIFlagObjectPointer)
!280 = !DILocation(line: 0, scope: !278)
!281 = !DILocation(line: 12, column: 41, scope: !278)
!282 = !DILocation(line: 12, column: 19, scope: !278)
!283 = !DILocation(line: 12, column: 49, scope: !278)
!284 = distinct !DISubprogram(name: "sum", linkageName: "_ZNK4bank4PairIiE3sumEv", scope: !84, file: !3, line: 41, type: !89, scopeLine: 41, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !88, retainedNodes: !10)
!285 = !DILocalVariable(name: "this", arg: 1, scope: !284, type: !286, flags: DIFlagArtificial | DIFlagObjectPointer)
!286 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !92, size: 64)
!287 = !DILocation(line: 0, scope: !284)
!288 = !DILocation(line: 41, column: 28, scope: !284)
!289 = !DILocation(line: 41, column: 36, scope: !284)
!290 = !DILocation(line: 41, column: 34, scope: !284)
!291 = !DILocation(line: 41, column: 21, scope: !284)
!292 = distinct !DISubprogram(name: "Base", linkageName: "_ZN4bank4BaseC2Ev", scope: !12, file: !3, line: 25, type: !27, scopeLine: 25, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !293, retainedNodes: !10)
!293 = !DISubprogram(name: "Base", scope: !12, type: !27, flags: DIFlagArtificial | DIFlagPrototyped, spFlags: 0)
!294 = !DILocalVariable(name: "this", arg: 1, scope: !292, type: !180, flags: DIFlagArtificial | DIFlagObjectPointer)
!295 = !DILocation(line: 0, scope: !292)
!296 = !DILocation(line: 25, column: 8, scope: !292)
!297 = !DILocation(line: 26, column: 9, scope: !292)
!298 = !DILocation(line: 27, column: 10, scope: !292)
!299 = distinct !DISubprogram(name: "worth", linkageName: "_ZN4bank4Base5worthEv", scope: !12, file: !3, line: 28, type: !23, scopeLine: 28, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !22, retainedNodes: !10)
!300 = !DILocalVariable(name: "this", arg: 1, scope: !299, type: !180, flags: DIFlagArtificial | DIFlagObjectPointer)
!301 = !DILocation(line: 0, scope: !299)
!302 = !DILocation(line: 28, column: 34, scope: !299)
!303 = !DILocation(line: 28, column: 27, scope: !299)
!304 = distinct !DISubprogram(name: "~Base", linkageName: "_ZN4bank4BaseD2Ev", scope: !12, file: !3, line: 29, type: !27, scopeLine: 29, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !26, retainedNodes: !10)
!305 = !DILocalVariable(name: "this", arg: 1, scope: !304, type: !180, flags: DIFlagArtificial | DIFlagObjectPointer)
!306 = !DILocation(line: 0, scope: !304)
!307 = !DILocation(line: 29, column: 22, scope: !304)
!308 = distinct !DISubprogram(name: "~Base", linkageName: "_ZN4bank4BaseD0Ev", scope: !12, file: !3, line: 29, type: !27, scopeLine: 29, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !110, declaration: !26, retainedNodes: !10)
!309 = !DILocalVariable(name: "this", arg: 1, scope: !308, type: !180, flags: DIFlagArtificial | DIFlagObjectPointer)
!310 = !DILocation(line: 0, scope: !308)
!311 = !DILocation(line: 29, column: 21, scope: !308)
!312 = !DILocation(line: 29, column: 22, scope: !308)
!313 = distinct !DISubprogram(linkageName: "_GLOBAL__sub_I_bank.cc", scope: !134, file: !134, type: !314, flags: DIFlagArtificial, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !110, retainedNodes: !10)
!314 = !DISubroutineType(types: !10)
!315 = !DILocation(line: 0, scope: !313)
